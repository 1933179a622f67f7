package console

import (
	"cmp"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/text/wire"
)

// workerRow is what is known of a worker.
type workerRow struct {
	inspector.Worker
	Name   string
	Topics []workerTopic
	More   int // topics that have no place
}

// workerTopic is a topic of a worker.
type workerTopic struct {
	Name    string
	Slots   string // 0-3, 7
	Count   int
	Has     string // the slots that it has now, if these are not the assigned ones
	Probing time.Time
}

// runRow is a handler that has run for long.
type runRow struct {
	inspector.Running
	Name  string // of the worker
	Shown string // what it handles
	Link  string // to that; empty: it is not known whole
	More  int    // messages that it handles beside that
	Ran   time.Duration
	Over  bool // longer than its Timeout
}

// goneRow is a worker that vanished.
type goneRow struct {
	Name   string
	Until  time.Time
	Topics []string
}

// workersPage is who works.
type workersPage struct {
	At      time.Time
	Workers []workerRow
	More    int // workers that have no place
	Runs    []runRow
	Gone    []goneRow
	Missed  []string
}

// mostWorkers rows are on a page, of a worker and a topic each.
const mostWorkers = 200

// mostNamed handlers that run for long are on the page, the longest first, and as many workers that vanished.
const mostNamed = 20

func loadWorkers(v *visit) (any, error) {
	all, at, err := overviewOf(v)
	if err != nil {
		return nil, err
	}
	p := &workersPage{At: at, Missed: missedOf(v, all)}
	rows := 0
	for _, w := range all.workers {
		r := workerRow{Worker: w, Name: protocol.HolderName(w.ID)}
		for topic, slots := range w.Assigned {
			if v.looksAt(topic) {
				r.Topics = append(r.Topics, workerTopic{topic, wire.Ranges(slots), len(slots), hasStill(w, topic), w.Probing[topic]})
			}
		}
		for topic := range w.Held { // it may still have some that are no longer assigned to it
			if _, both := w.Assigned[topic]; !both && v.looksAt(topic) {
				r.Topics = append(r.Topics, workerTopic{Name: topic, Has: hasStill(w, topic)})
			}
		}
		if len(r.Topics) == 0 && len(w.Assigned) > 0 {
			continue
		}
		slices.SortFunc(r.Topics, func(a, b workerTopic) int { return cmp.Compare(a.Name, b.Name) })
		if left := mostWorkers - rows; left <= 0 {
			p.More++
			continue
		} else if len(r.Topics) > left {
			r.Topics, r.More = r.Topics[:left], len(r.Topics)-left
		}
		rows += len(r.Topics)
		p.Workers = append(p.Workers, r)
	}
	p.Runs = runsOf(v, all.workers, v.looksAt)
	p.Gone = goneOf(all.gone, v.looksAt)
	return p, nil
}

// hasStill are the slots of a topic that a worker says it has, if these are not the ones that are assigned to it.
func hasStill(w inspector.Worker, topic string) string {
	switch {
	case w.Held == nil || slices.Equal(w.Held[topic], w.Assigned[topic]):
		return ""
	case len(w.Held[topic]) == 0:
		return "none"
	}
	return wire.Ranges(w.Held[topic])
}

// runsOf are the handlers that have run for longest at some topics.
func runsOf(v *visit, workers []inspector.Worker, at func(topic string) bool) (rows []runRow) {
	var all []inspector.Running
	for _, w := range workers {
		for _, r := range w.Running {
			if at(r.Topic) {
				all = append(all, r)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b inspector.Running) int { return a.Since.Compare(b.Since) })
	for _, r := range all[:min(mostNamed, len(all))] {
		row := runRow{Running: r, Name: protocol.HolderName(r.Worker), More: r.Count - 1, Ran: time.Since(r.Since)}
		row.Over = row.Ran > r.Timeout
		if r.Whole() {
			row.Shown, row.Link = v.contents.Shown(r.Content), v.contents.Link(r.Topic, inspector.Entry{Content: r.Content, Slot: r.Slot, State: inspector.InFlight})
		} else if !v.contents.Hidden {
			row.Shown = v.contents.Shown(r.Content) + "…"
		}
		rows = append(rows, row)
	}
	return rows
}

// goneOf are the workers that vanished from some topics, the latest first.
func goneOf(all []inspector.Vanished, at func(topic string) bool) (rows []goneRow) {
	for _, g := range all {
		topics := slices.DeleteFunc(slices.Clone(g.Topics), func(topic string) bool { return !at(topic) })
		if len(topics) > 0 && len(rows) < mostNamed {
			rows = append(rows, goneRow{protocol.HolderName(g.Worker), g.Until, topics})
		}
	}
	return rows
}
