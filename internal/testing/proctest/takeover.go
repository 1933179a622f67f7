package proctest

import (
	"math"
	"time"
)

// Takeover is a slot of a worker that failed or left, and who went on there.
type Takeover struct {
	Fault Event
	Next  Event // the first handler that another began

	After time.Duration // from the fault to it
	Stood time.Duration // for how long of it nothing was handled although something was due
}

// Takeovers finds all of them: for each Kill, Freeze, Cut, Part, Rob and Closing the slots
// that its worker was the last to begin a handler in. "Another" is another worker,
// or the same with another note in its starts, which says which one it is at the time. Due
// returns when a content was to be handled, in nanoseconds.
func Takeovers(events []Event, due func(content string) int64) (all []Takeover) {
	type state struct {
		last    Event // start
		end     int64 // of a handler
		fault   *Event
		pending bool
	}
	slots := map[slotName]*state{}
	waiting := waitingOf(events, due)
	for i, e := range events {
		switch e.Kind {
		case Kill, Freeze, Cut, Part, Rob, Closing:
			victim := e.Note
			if e.Kind == Closing {
				victim = e.Worker
			}
			for _, s := range slots {
				if s.last.Worker == victim {
					s.fault, s.pending = &events[i], true
				}
			}
		case Thaw, Mend, Join: // it may have them still, and keep them
			for _, s := range slots {
				if s.pending && s.fault.Note == e.Note {
					s.pending = false
				}
			}
		case Start:
			s := slots[e.slot()]
			if s == nil {
				s = &state{}
				slots[e.slot()] = s
			}
			another := s.last.Worker != e.Worker || s.last.Note != e.Note
			if s.pending && another {
				since := max(s.fault.At, s.end, waiting.since(e))
				all = append(all, Takeover{*s.fault, e, time.Duration(e.At - s.fault.At), time.Duration(max(0, e.At-since))})
				s.pending = false
			}
			s.last = e
		case Done, Fail:
			if s := slots[e.slot()]; s != nil {
				s.end = e.At
			}
		}
	}
	return all
}

// waiting are the contents of each slot: when they were due, and when they were
// done.
type waiting map[slotName]map[string]*wait

type wait struct{ due, done int64 }

func waitingOf(events []Event, due func(content string) int64) waiting {
	all := waiting{}
	for _, e := range events {
		if e.Kind != Start && e.Kind != Done {
			continue
		}
		if all[e.slot()] == nil {
			all[e.slot()] = map[string]*wait{}
		}
		w := all[e.slot()][e.Content]
		if w == nil {
			w = &wait{due(e.Content), never}
			all[e.slot()][e.Content] = w
		}
		if e.Kind == Done {
			w.done = e.At
		}
	}
	return all
}

// since is since when something had been due in the slot of an event, and was not
// done.
func (w waiting) since(e Event) int64 {
	since := int64(math.MaxInt64)
	for _, x := range w[e.slot()] {
		if x.done >= e.At {
			since = min(since, x.due)
		}
	}
	return since
}
