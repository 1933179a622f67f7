package console

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/words"
)

// The first page: is anything wrong? It has a row for each topic, and above these what needs someone.

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
	if err := c.census.count(ctx, c.inspector, topics); err != nil {
		return nil, err
	}
	var missing []inspector.Failed
	all.stats, missing, all.uncounted, all.oldest = c.census.of(topics)
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
	c.past.add(time.Now(), all.stats)
	return &all, nil
}

// missed says what could not be looked at, of topics that who asks may look at.
func (v *visit) missed(all *overview) []string {
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

// need is something that needs a person.
type need struct {
	Level inspector.Level
	Topic string // empty: it is not of one topic
	Text  string
	Do    string // what the link says
	To    string // where it leads; empty: nowhere else
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
	Jobs      []*job
	Namespace string
}

// The page has places for so many topics, and for so much that needs someone.
const (
	mostTopics = 200
	mostNeeds  = 50
)

// errNotAll is the answer if the topics could not be read, for those who may look at some of them only.
var errNotAll = &problem{http.StatusBadGateway, "The topics could not be read, and that is tried again. Someone whose token may look at all topics sees why."}

func (v *visit) overview() (*overview, time.Time, error) {
	before := v.problem
	all, at, err := of[*overview](v, topicsSubject, v.readTopics)
	if v.looksAtAll() {
		return all, at, err
	}
	if err != nil {
		err = errNotAll
	}
	if v.problem != before { // it may name topics
		v.problem = errNotAll.text
	}
	return all, at, err
}

func (v *visit) loadTopics() (any, error) {
	all, at, err := v.overview()
	if err != nil {
		return nil, err
	}
	p := &topicsPage{At: at, Missed: v.missed(all), Jobs: v.jobs.running(v.looksAt), Namespace: v.cfg.Namespace, Part: strings.TrimSpace(v.param("name"))}
	if at.Sub(all.oldest) > longOverdue {
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
		r, needs := v.rowOf(s), needsOf(s, all.workers)
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
			p.Needs = append(p.Needs, v.byDoctor(need{Level: inspector.Fail, Topic: name, Text: "has no definition that can be read"}))
		}
	}
	p.Needs = append(p.Needs, v.needsOfVanished(all.gone)...)
	v.subjects[doctorSubject] = true
	checks, known := v.collector.glance(doctorSubject).value.([]inspector.Check) // which may take long
	p.Unknown = !known
	p.Needs = append(p.Needs, v.needsOfServers(checks)...)
	slices.SortStableFunc(p.Needs, func(a, b need) int { return rank(a.Level) - rank(b.Level) })
	p.MoreNeeds = max(0, len(p.Needs)-mostNeeds)
	p.Needs = p.Needs[:len(p.Needs)-p.MoreNeeds]
	return p, nil
}

// byDoctor is a need of which the doctor has more to say.
func (v *visit) byDoctor(n need) need {
	if v.looksAtAll() {
		n.Do, n.To = "Ask the doctor", "doctor"
	}
	return n
}

// rank is 0 for what is worst.
func rank(l inspector.Level) int {
	return slices.Index([]inspector.Level{inspector.Fail, inspector.Warn, inspector.OK}, l)
}

func (v *visit) rowOf(s inspector.Stats) topicRow {
	r := topicRow{Stats: s, Name: s.Topic.Name, Kind: s.Topic.Kind.String(), Spark: spark(v.past.of(s.Topic.Name, s.Waiting+s.Retrying)),
		Workers: workersText(s), Late: s.Overdue > longOverdue, Alone: alone(s), rank: rank(inspector.OK)}
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

// longOverdue is how long a message is due before that needs someone.
const longOverdue = time.Minute

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

// alone reports whether messages are due and no one is there for them.
func alone(s inspector.Stats) bool { return s.Due > 0 && s.Workers == 0 && s.Takers == 0 }

// needsOf is what needs a person at a topic.
func needsOf(s inspector.Stats, workers []inspector.Worker) (all []need) {
	name := s.Topic.Name
	add := func(level inspector.Level, do, to string, format string, args ...any) {
		all = append(all, need{level, name, fmt.Sprintf(format, args...), do, to + url.Values{"topic": {name}}.Encode()})
	}
	if alone(s) {
		add(inspector.Fail, "Who listens?", "topic?", "%s, and no worker listens", words.Count(s.Due, "message")+" due")
	}
	for _, w := range workers {
		if since := w.Probing[name]; !since.IsZero() {
			add(inspector.Fail, "See which", "messages?state=retrying&", "all messages have failed at worker %s for %s: something that its handlers need may be down", inspector.HolderName(w.ID), humantime.Duration(time.Since(since)))
			break
		}
	}
	if n, longest := overTimeout(workers, name); n > 0 {
		add(inspector.Fail, "See which", "topic?", "%s longer than the Timeout of the topic, the longest for %s", words.Count(n, "handler")+" running", humantime.Duration(longest))
	}
	if s.Dead > 0 {
		add(inspector.Fail, "See why", "dead?", "%s", words.Count(s.Dead, "dead message"))
	}
	if s.Paused > 0 {
		add(inspector.Warn, "See the slots", "topic?", "%s paused", words.Count(s.Paused, "slot"))
	}
	if s.Overdue > longOverdue && !alone(s) {
		add(inspector.Warn, "See the slots", "topic?", "the oldest due message has waited for %s", humantime.Duration(s.Overdue))
	}
	if s.Policy != (inspector.Policy{}) {
		add(inspector.Warn, "See the limit", "topic?", "limited to %s", s.Policy)
	}
	return all
}

// overTimeout is how many handlers of a topic have run for longer than they may, and the longest of them.
func overTimeout(workers []inspector.Worker, topic string) (n int, longest time.Duration) {
	const late = 5 * time.Second // clocks differ, and a handler that heeds its context ends soon
	for _, w := range workers {
		if w.Unlisted { // it may have been killed
			continue
		}
		for _, r := range w.Running {
			if ran := time.Since(r.Since); r.Topic == topic && ran > r.Timeout+late {
				n++
				longest = max(longest, ran)
			}
		}
	}
	return n, longest
}

// vanishedFor is how long a worker that vanished is named on the first page.
const vanishedFor = 10 * time.Minute

// needsOfVanished is what workers need that vanished just now.
func (v *visit) needsOfVanished(gone []inspector.Vanished) []need {
	rows := goneOf(gone, v.looksAt)
	rows = slices.DeleteFunc(rows, func(r goneRow) bool { return time.Since(r.Until) > vanishedFor })
	if len(rows) == 0 {
		return nil
	}
	text := fmt.Sprintf("worker %s vanished about %s: it was not closed", words.Legible(rows[0].Name), humantime.Ago(time.Since(rows[0].Until)))
	if more := len(rows) - 1; more > 0 {
		text += ", and " + words.Grouped(more) + " more"
	}
	return []need{{Level: inspector.Warn, Text: text, Do: "See the workers", To: "workers"}}
}

// ofTopics are the checks of the doctor that needsOf says more of.
var ofTopics = []string{"workers", "handlers", "paused", "limited", "dead"}

// needsOfServers is what the doctor found beside that: what fails, each by itself, and what is worth a look, together.
// Who may not ask the doctor is shown only that something fails.
func (v *visit) needsOfServers(checks []inspector.Check) (all []need) {
	var look []string
	for _, c := range checks {
		switch {
		case slices.Contains(ofTopics, c.Name):
		case c.Level == inspector.Fail:
			all = append(all, need{c.Level, "", c.Name + ": " + c.Detail, "Ask the doctor", "doctor"})
		case c.Level == inspector.Warn:
			look = append(look, c.Name)
		}
	}
	switch {
	case v.looksAtAll():
	case len(all) > 0:
		return []need{{Level: inspector.Fail, Text: "a check of the servers fails: ask someone whose token may look at all topics"}}
	default:
		return nil
	}
	if look != nil {
		all = append(all, need{inspector.Warn, "", "the doctor has advice about: " + strings.Join(look, ", "), "Ask the doctor", "doctor"})
	}
	return all
}
