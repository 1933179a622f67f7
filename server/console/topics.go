package console

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/server/console/internal/census"
	"github.com/slotmq/go-rmq/server/console/internal/jobs"
	"github.com/slotmq/go-rmq/server/console/internal/pages"
	"github.com/slotmq/go-rmq/server/console/internal/problem"
)

const (
	topicsSubject = "topics"
	doctorSubject = "doctor"
)

// overview is what is known of all topics at one time.
type overview struct {
	stats   []inspector.Stats
	workers []inspector.Worker
	gone    []inspector.Vanished
	unread  []string // topics whose definition cannot be read
	missed  []inspector.Failed
	unseen  error // why it is not known who works; nil: it is

	uncounted []string  // topics whose turn has not come yet
	oldest    time.Time // count of a topic
}

// readTopics counts all topics, and looks for those who work at them.
func (c *Console) readTopics(ctx context.Context) (any, error) {
	var all overview
	var partial inspector.PartialError
	topics, err := c.inspector.Topics(ctx)
	if err := partial.Merge(err); err != nil {
		return nil, err
	}
	for _, t := range topics {
		if t.Slots == 0 {
			all.unread = append(all.unread, t.Name)
		}
	}
	topics = slices.DeleteFunc(topics, func(t inspector.Topic) bool { return t.Slots == 0 })
	if err := c.census.Count(ctx, c.inspector, topics); err != nil {
		return nil, err
	}
	var missing []inspector.Failed
	all.stats, missing, all.uncounted, all.oldest = c.census.Of(topics)
	_ = partial.Merge(&inspector.PartialError{Failures: missing}) // it is one
	if all.workers, err = c.inspector.Workers(ctx); partial.Merge(err) != nil {
		all.unseen = err // ZooKeeper is away; what Redis has is there all the same
	}
	if all.gone, err = c.inspector.Vanished(ctx); partial.Merge(err) != nil {
		all.unseen = cmp.Or(all.unseen, err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all.missed = partial.Failures
	c.past.Add(time.Now(), all.stats)
	return &all, nil
}

// missedOf says what could not be looked at, of topics that who asks may look at.
func missedOf(v *visit, all *overview) []string {
	lines := missed(slices.DeleteFunc(slices.Clone(all.missed), func(f inspector.Failed) bool { return !v.looksAt(f.Topic) }))
	switch {
	case all.unseen == nil:
	case v.looksAtAll():
		lines = append(lines, "who works: "+words.Legible(all.unseen.Error()))
	default:
		lines = append(lines, "who works")
	}
	return lines
}

// mostMissed parts are named, and more are counted.
const mostMissed = 5

// missed says what could not be looked at.
func missed(failures []inspector.Failed) (lines []string) {
	for _, f := range failures {
		where := words.Legible(f.Topic)
		if f.Slot >= 0 {
			where += fmt.Sprintf(" slot %d", f.Slot)
		}
		if len(lines) == mostMissed {
			return append(lines, "and "+words.Count(len(failures)-mostMissed, "more part"))
		}
		lines = append(lines, where+": "+words.Legible(f.Err.Error()))
	}
	return lines
}

// errNotAll is the answer if the topics could not be read, for those who may look at some of them only.
var errNotAll = problem.New(http.StatusBadGateway, "The topics could not be read, and that is tried again. Someone whose token may look at all topics sees why.")

func overviewOf(v *visit) (*overview, time.Time, error) {
	before := v.problem
	all, at, err := of[*overview](v, topicsSubject, v.readTopics)
	if v.looksAtAll() {
		return all, at, err
	}
	if err != nil {
		err = errNotAll
	}
	if v.problem != before { // it may name topics
		v.problem = errNotAll.Text
	}
	return all, at, err
}

// The first page: is anything wrong? It has a row for each topic, and above these what needs someone.

// topicRow is what the first page shows of a topic.
type topicRow struct {
	inspector.Stats
	Name    string
	Kind    string
	Spark   template.HTML
	Workers string
	State   string // paused, limited
	Late    bool   // the oldest due message is long overdue
	Alone   bool   // messages are due, and no one listens
	rank    int    // of what needs someone here
}

// topicsPage is what the first page shows.
type topicsPage struct {
	At        time.Time
	Needs     []need
	MoreNeeds int // that have no place
	Rows      []topicRow
	Part      string // of the names, that was asked for
	Fit       int    // topics whose names have it
	Many      bool
	Uncounted int
	Oldest    time.Time // count of a topic; zero: all were counted now
	Unknown   bool      // the doctor has not looked yet
	Missed    []string
	Jobs      []*jobs.Job
	Namespace string
}

// The page has places for so many topics, and for so much that needs someone.
const (
	mostTopics = 200
	mostNeeds  = 50
)

func loadTopics(v *visit) (any, error) {
	all, at, err := overviewOf(v)
	if err != nil {
		return nil, err
	}
	p := &topicsPage{At: at, Missed: missedOf(v, all), Jobs: v.jobs.Running(v.looksAt), Namespace: v.cfg.Namespace, Part: v.field("name")}
	if at.Sub(all.oldest) > pages.LongOverdue {
		p.Oldest = all.oldest
	}
	for _, name := range all.uncounted {
		if v.looksAt(name) {
			p.Uncounted++
		}
	}
	topics := p.Uncounted
	for _, s := range all.stats {
		if !v.looksAt(s.Topic.Name) {
			continue
		}
		topics++
		r, needs := rowOf(v, s), needsOf(s, all.workers)
		for _, n := range needs {
			r.rank = min(r.rank, rank(n.Level))
		}
		p.Needs = append(p.Needs, needs...)
		if strings.Contains(r.Name, p.Part) {
			p.Rows = append(p.Rows, r)
		}
	}
	p.Fit, p.Many = len(p.Rows), topics > mostTopics
	if len(p.Rows) > mostTopics { // what needs someone comes first
		slices.SortStableFunc(p.Rows, func(a, b topicRow) int { return a.rank - b.rank })
		p.Rows = p.Rows[:mostTopics]
	}
	for _, name := range all.unread {
		if v.looksAt(name) {
			p.Needs = append(p.Needs, byDoctor(v, need{Level: doctor.Fail, Topic: name, Text: "has no definition that can be read"}))
		}
	}
	p.Needs = append(p.Needs, needsOfVanished(v, all.gone)...)
	v.subjects[doctorSubject] = true
	checks, known := v.collector.Glance(doctorSubject).Value.([]doctor.Check) // which may take long
	p.Unknown = !known
	p.Needs = append(p.Needs, needsOfServers(v, checks)...)
	slices.SortStableFunc(p.Needs, func(a, b need) int { return rank(a.Level) - rank(b.Level) })
	p.MoreNeeds = max(0, len(p.Needs)-mostNeeds)
	p.Needs = p.Needs[:len(p.Needs)-p.MoreNeeds]
	return p, nil
}

func rowOf(v *visit, s inspector.Stats) topicRow {
	r := topicRow{Stats: s, Name: s.Topic.Name, Kind: s.Topic.Kind.String(), Spark: pages.Spark(v.past.Of(s.Topic.Name, s.Waiting+s.Retrying), census.Steps),
		Workers: workersText(s), Late: s.Overdue > pages.LongOverdue, Alone: alone(s), rank: rank(doctor.OK)}
	switch {
	case s.Paused == s.Topic.Slots:
		r.State = "paused"
	case s.Paused > 0:
		r.State = fmt.Sprintf("%d of %d slots paused", s.Paused, s.Topic.Slots)
	case s.Policy != (inspector.Policy{}):
		r.State = "limited"
	}
	return r
}

func workersText(s inspector.Stats) string {
	text := "?"
	if s.Workers >= 0 {
		text = words.Grouped(s.Workers)
	}
	if s.Takers > 0 {
		text += " + " + words.Count(s.Takers, "taker")
	}
	return text
}
