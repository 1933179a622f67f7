package console

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
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
		x.missed = missed(partial.Failures)
		return &x, nil
	}
}

// topicPage is what the page of a topic shows.
type topicPage struct {
	At     time.Time
	Name   string
	Kind   string
	Slots  int
	Form   []string // what is special about it: literal, notes, shared by ZooKeeper
	Counts inspector.Counts
	Late   time.Duration
	Needs  []need
	Spark  template.HTML
	Ahead  []bucket
	Timed  bool
	Paused int
	Limit  string // in words; empty: none
	Cells  []cell
	More   int // slots that have no cell
	Rows   []slotRow
	Chosen int // slot; -1: none
	Worker []workerTopicRow
	Missed []string
}

// bucket is how many messages become due in a span of time.
type bucket struct {
	Name  string
	Count int
	Part  int // of the largest, in percent
}

// mostCells are drawn. A topic may have 65,536 slots.
const mostCells = 1024

// cell is a slot on the map.
type cell struct {
	Index int
	State string // one of the words of stateOf
	Sign  string // that stands for it, without colours
	Short string // how many messages
	Words string // all of it in words
}

// slotRow is a slot in the table.
type slotRow struct {
	inspector.Slot
	State string
	Owner string
	Since time.Duration // of the batch in flight
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

func (v *visit) loadTopic() (any, error) {
	name := v.param("topic")
	if name == "" {
		return nil, &problem{http.StatusNotFound, "The address names no topic: begin at the list of topics."}
	}
	x, at, err := of[*inside](v, "topic "+name, v.readTopic(name))
	if err != nil {
		return nil, err
	}
	all, _, err := v.overview()
	if err != nil {
		return nil, err
	}
	p := &topicPage{At: at, Name: name, Kind: x.topic.Kind.String(), Slots: x.topic.Slots, Timed: x.topic.Kind.Timed(), Missed: x.missed, Form: formOf(x.topic), Chosen: -1}
	for _, s := range x.slots {
		p.add(s)
	}
	p.Spark = spark(v.past.of(name, p.Counts.Waiting+p.Counts.Retrying))
	p.Ahead = bucketsOf(p.Counts, x.ahead)
	if x.policy != (inspector.Policy{}) {
		p.Limit = x.policy.String()
	}
	if n, err := strconv.Atoi(v.param("slot")); err == nil && n >= 0 && n < x.topic.Slots {
		p.Chosen = n
	}
	p.Rows = rowsOf(x.slots, p.Chosen)
	for _, w := range all.workers {
		if slots, is := w.Assigned[name]; is {
			p.Worker = append(p.Worker, workerTopicRow{inspector.HolderName(w.ID), w.Taker, wire.Ranges(slots), len(slots), w.Probing[name], w.Leaving})
		}
	}
	for _, s := range all.stats {
		if s.Topic.Name == name {
			s.Counts, s.Overdue, s.Paused, s.Policy = p.Counts, p.Late, p.Paused, x.policy
			p.Needs = needsOf(s, all.workers)
		}
	}
	return p, nil
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
	if len(p.Cells) == mostCells {
		p.More++
		return
	}
	state, sign := stateOf(s)
	p.Cells = append(p.Cells, cell{s.Index, state, sign, short(s.Waiting + s.Retrying), slotWords(s, state)})
}

// stateOf is what a slot does, and the sign for it on the map.
func stateOf(s inspector.Slot) (state, sign string) {
	switch {
	case !s.Paused.IsZero():
		return "paused", "‖"
	case s.InFlight > 0:
		return "busy", "▸"
	case s.Overdue > longOverdue:
		return "late", "!"
	case s.Worker == "" && !s.Unseen && s.Due > 0:
		return "alone", "?"
	case s.Waiting+s.Retrying > 0:
		return "waits", "·"
	}
	return "empty", ""
}

// slotWords says what a slot holds and does.
func slotWords(s inspector.Slot, state string) string {
	text := fmt.Sprintf("slot %d: %s waiting, %s due", s.Index, words.Grouped(s.Waiting+s.Retrying), words.Grouped(s.Due))
	switch state {
	case "paused":
		text += ", paused " + humantime.Ago(time.Since(s.Paused))
	case "busy":
		text += fmt.Sprintf(", %s in flight at %s for %s", words.Grouped(s.InFlight), inspector.HolderName(s.Holder), humantime.Duration(time.Since(s.Since)))
	case "late":
		text += ", the oldest for " + humantime.Duration(s.Overdue)
	case "alone":
		text += ", no worker has it"
	}
	if s.Dead > 0 {
		text += ", " + words.Grouped(s.Dead) + " dead"
	}
	return text
}

// short is a number in four characters at most: 999, 1.2k, 45k, 3M.
func short(n int) string {
	switch {
	case n == 0:
		return ""
	case n < 1000:
		return strconv.Itoa(n)
	case n < 10_000:
		return fmt.Sprintf("%d.%dk", n/1000, n%1000/100)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%dM", n/1_000_000)
}

// bucketsOf is what becomes due when. What has a priority and no time is due now.
func bucketsOf(c inspector.Counts, ahead []int) []bucket {
	all := []bucket{{Name: "now", Count: c.Due}}
	before := 0
	for n, name := range []string{"in 1 minute", "in 10 minutes", "in 1 hour", "in 1 day"} {
		all = append(all, bucket{Name: name, Count: ahead[n] - before})
		before = ahead[n]
	}
	later := c.Waiting + c.Retrying - c.Due - before
	all = append(all, bucket{Name: "later", Count: max(0, later)}) // they were counted one after the other
	most := 1
	for _, b := range all {
		most = max(most, b.Count)
	}
	for n := range all {
		all[n].Part = 100 * all[n].Count / most
	}
	return all
}

// mostRows of slots are in the table.
const mostRows = 24

// rowsOf are the slots that say most about what goes on, and the one that was asked for.
func rowsOf(slots []inspector.Slot, chosen int) (rows []slotRow) {
	weight := func(s inspector.Slot) int {
		switch state, _ := stateOf(s); state {
		case "late", "alone":
			return 0
		case "paused":
			return 1
		case "busy":
			return 2
		case "waits":
			return 3
		}
		return 4
	}
	sorted := slices.Clone(slots)
	slices.SortStableFunc(sorted, func(a, b inspector.Slot) int {
		if pick := cmp.Compare(boolean(b.Index == chosen), boolean(a.Index == chosen)); pick != 0 {
			return pick
		}
		return cmp.Or(weight(a)-weight(b), cmp.Compare(b.Overdue, a.Overdue), a.Since.Compare(b.Since), a.Index-b.Index)
	})
	for _, s := range sorted {
		if len(rows) == mostRows || weight(s) == 4 && s.Dead == 0 && s.Index != chosen {
			break
		}
		state, _ := stateOf(s)
		r := slotRow{Slot: s, State: state, Owner: inspector.HolderName(s.Worker)}
		if s.InFlight > 0 {
			r.Since = time.Since(s.Since)
		}
		rows = append(rows, r)
	}
	return rows
}

func boolean(is bool) int {
	if is {
		return 1
	}
	return 0
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
