package console

import (
	"context"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/console/internal/census"
	"github.com/slotmq/go-rmq/server/console/internal/jobs"
	"github.com/slotmq/go-rmq/server/console/internal/pages"
	"github.com/slotmq/go-rmq/server/console/internal/problem"
)

// The page of a topic: what its slots hold, what becomes due when, and who works at it.

// aheadOf is how far ahead the page looks.
var aheadOf = []time.Duration{time.Minute, 10 * time.Minute, time.Hour, 24 * time.Hour}

// inside is what is known of one topic at one time.
type inside struct {
	topic  inspector.Topic
	slots  []inspector.Slot
	ahead  []int // by aheadOf
	policy inspector.Policy
	merged inspector.Merged
	missed []string
}

// readTopic reads a topic.
func (c *Console) readTopic(name string) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		var x inside
		var partial inspector.PartialError
		var err error
		if x.topic, err = c.inspector.Topic(ctx, name); err != nil {
			return nil, err
		}
		if x.slots, err = c.inspector.Slots(ctx, name); partial.Merge(err) != nil {
			return nil, err
		}
		if x.ahead, err = c.inspector.Ahead(ctx, name, aheadOf); partial.Merge(err) != nil {
			return nil, err
		}
		if x.policy, err = c.inspector.Policy(ctx, name); partial.Merge(err) != nil {
			return nil, err
		}
		if x.merged, err = c.inspector.Merged(ctx, name); partial.Merge(err) != nil {
			return nil, err
		}
		x.missed = missed(partial.Failures)
		return &x, nil
	}
}

// topicPage is what the page of a topic shows.
type topicPage struct {
	At          time.Time
	Kind        string
	Slots       int
	Form        []string // what is special about it: literal, notes, shared by ZooKeeper
	Counts      inspector.Counts
	Late        time.Duration
	Needs       []need
	Spark       template.HTML
	Merged      inspector.Merged
	Notes       bool // Merged is known
	Ahead       []bucket
	Timed       bool
	Paused      int
	Limit       string // in words; empty: none
	Cells       []pages.Cell
	More        int // slots that have no cell
	Rows        []pages.SlotRow
	Chosen      int // slot; -1: none
	Workers     []workerTopicRow
	Runs        []runRow
	Gone        []goneRow
	Missed      []string
	Jobs        []*jobs.Job
	MoreWorkers int // that have no place
}

// bucket is how many messages become due in a span of time.
type bucket struct {
	Name  string
	Count int
	Part  int // of the largest, in percent
}

// workerTopicRow is a worker of the topic.
type workerTopicRow struct {
	Name    string
	Taker   bool
	Slots   string
	Count   int
	Probing time.Time
	Leaving bool
}

func loadTopic(v *visit) (any, error) {
	name := v.param("topic")
	if name == "" {
		return nil, problem.Missing("The address names no topic: begin at the list of topics.")
	}
	x, at, err := of[*inside](v, "topic "+name, v.readTopic(name))
	if err != nil {
		return nil, err
	}
	all, _, err := overviewOf(v)
	if err != nil {
		return nil, err
	}
	p := &topicPage{At: at, Kind: x.topic.Kind.String(), Slots: x.topic.Slots, Timed: x.topic.Kind.Timed(), Missed: x.missed, Form: formOf(x.topic), Chosen: -1,
		Merged: x.merged, Notes: x.topic.Notes, Jobs: jobsOf(v, name)}
	for _, s := range x.slots {
		p.add(s)
	}
	p.Spark = pages.Spark(v.past.Of(name, p.Counts.Waiting+p.Counts.Retrying), census.Steps)
	p.Ahead = bucketsOf(p.Counts, x.ahead)
	if x.policy != (inspector.Policy{}) {
		p.Limit = x.policy.String()
	}
	if n, err := strconv.Atoi(v.param("slot")); err == nil && n >= 0 && n < x.topic.Slots {
		p.Chosen = n
	}
	p.Rows = pages.RowsOf(x.slots, p.Chosen)
	p.work(v, all, name)
	for _, s := range all.stats {
		if s.Topic.Name == name {
			s.Counts, s.Overdue, s.Paused, s.Policy = p.Counts, p.Late, p.Paused, x.policy
			p.Needs = needsOf(s, all.workers)
		}
	}
	for n := range p.Needs {
		if strings.HasPrefix(p.Needs[n].To, "topic?") { // it is here
			p.Needs[n].To = ""
		}
	}
	return p, nil
}

// work adds who works at the topic.
func (p *topicPage) work(v *visit, all *overview, name string) {
	for _, w := range all.workers {
		slots, is := w.Assigned[name]
		switch {
		case w.Unlisted, !is: // its handlers stand below
		case len(p.Workers) == mostWorkers:
			p.MoreWorkers++
		default:
			p.Workers = append(p.Workers, workerTopicRow{protocol.HolderName(w.ID), w.Taker, wire.Ranges(slots), len(slots), w.Probing[name], w.Leaving})
		}
	}
	here := func(topic string) bool { return topic == name }
	p.Runs, p.Gone = runsOf(v, all.workers, here), goneOf(all.gone, here)
}

// add adds a slot to the sums and to the map.
func (p *topicPage) add(s inspector.Slot) {
	p.Counts.Waiting += s.Waiting
	p.Counts.Due += s.Due
	p.Counts.InFlight += s.InFlight
	p.Counts.Retrying += s.Retrying
	p.Counts.Dead += s.Dead
	p.Late = max(p.Late, s.Overdue)
	if !s.Paused.IsZero() {
		p.Paused++
	}
	if len(p.Cells) == pages.MostCells {
		p.More++
		return
	}
	p.Cells = append(p.Cells, pages.CellOf(s))
}

// bucketsOf is what becomes due when. What has a priority and no time is due now.
func bucketsOf(c inspector.Counts, ahead []int) []bucket {
	all := []bucket{{Name: "now", Count: c.Due}}
	before := 0
	for n, name := range []string{"within 1 minute", "1 to 10 minutes", "10 minutes to 1 hour", "1 hour to 1 day"} {
		all = append(all, bucket{Name: name, Count: max(0, ahead[n]-before)}) // they were counted one after the other
		before = max(before, ahead[n])
	}
	later := c.Waiting + c.Retrying - c.Due - before
	all = append(all, bucket{Name: "later", Count: max(0, later)})
	most := 1
	for _, b := range all {
		most = max(most, b.Count)
	}
	for n := range all {
		all[n].Part = 100 * all[n].Count / most
	}
	return all
}

// formOf is what is special about a topic.
func formOf(t inspector.Topic) (words []string) {
	if t.Literal {
		words = append(words, "literal")
	}
	if t.Notes {
		words = append(words, "keeps notes")
	}
	if t.Sharing == "zookeeper" {
		words = append(words, "shared by ZooKeeper")
	}
	return words
}

// PerMessage is how many sends a message stands for, of those that were looked at.
func (p *topicPage) PerMessage() string {
	return strconv.FormatFloat(float64(p.Merged.Sends)/float64(p.Merged.Messages), 'f', 1, 64)
}

// MergedWords says where that is from, or why it is not known.
func (p *topicPage) MergedWords() string {
	kind, _ := message.ParseKind(p.Kind)
	switch {
	case !p.Notes && !kind.FirstWins(): // few expect that its messages merge
		return ""
	case !p.Notes:
		return "Sends per message are known only for topics with Notes. The metric rmq_merged_total counts merges in all topics."
	case p.Merged.Messages == 0:
		return "No message was there to look at."
	}
	return fmt.Sprintf("%s in the %s looked at.", words.Count(p.Merged.Sends, "send"), words.Count(p.Merged.Messages, "message"))
}
