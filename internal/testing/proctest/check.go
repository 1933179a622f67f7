package proctest

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Rules of a check.
type Rules struct {
	// MaxAttempts after which a content that was never done may be dead.
	MaxAttempts int

	// Dead are contents that are known to be dead, though the logs may lack the last
	// delivery: its worker was killed before the handler began.
	Dead map[string]bool

	// Basis of a content. All contents of one basis must be in one slot.
	Basis func(content string) string

	// Lease of the workers. A handler that took half as long may have been
	// frozen: overlaps with it are reported apart.
	Lease time.Duration

	// Margin by which a worker takes its lease to be shorter than it is. It looks at its
	// clock before each handler; if it gets no processor for longer than this between that
	// look and the handler, then the handler begins behind a successor's, and no program can
	// help it. That is forgiven once for each batch, and nothing that begins so without such
	// a pause.
	Margin time.Duration

	// Session of workers that have one in place of a lease: for so long one that
	// is not heard of passes for alive. They know it, so this is judged strictly:
	// overlaps only with a handler whose worker was given no processor, or was
	// robbed of its session. The others end theirs in time.
	Session time.Duration

	// Coasts says that workers that are cut off go on.
	Coasts bool

	// Hung is after which time a handler has lost its slot, so that others may
	// overlap with it. Zero: it never does.
	Hung time.Duration
}

// Report is what the logs of a run amount to.
type Report struct {
	// Faults must never be: contents lost, two handlers at once in a slot, and
	// so on.
	Faults []string

	// Frozen are overlaps with a handler that outlived its lease, its session, or
	// Hung.
	Frozen []Overlap

	// Late are the starts of handlers behind one of a later batch of their slot, by workers
	// that could not know of it.
	Late []Event

	// Again are deliveries of contents that were done before.
	Again []Again

	Deliveries int
	Burnt      int            // attempts spent without a delivery
	Dead       int            // contents that were delivered MaxAttempts times, and never done
	Done       map[string]int // by worker
	MidBatch   int            // kills that hit a handler
	Stalls     int            // times that the machine gave a worker no processor
}

// Overlap is a handler that began while an earlier one of its slot ran.
type Overlap struct{ Earlier, Later Event }

// Again is a content delivered once more although it was done. Its Cause is the fault
// of its worker's, if the batch it was done in was in flight then: the last that the
// slot had seen. Without a cause it must not be.
type Again struct {
	Was   Event // the start of the delivery that was done
	Cause Kind
}

// handling is one handler from its start to its end.
type handling struct {
	Event         // the start
	end     int64 // never: the end of time
	outcome Kind  // Done, Fail, Kill, or Start: it has not returned
	late    bool  // one of a later batch of the slot had begun, which its worker could not know
}

// running tracks the handlers that run at the same time.
type running struct {
	place
	fence   int64
	content string
}

func (e *Event) running() running { return running{e.place(), e.Fence, e.Content} }

type slotName struct {
	topic string
	slot  int
}

func (e *Event) slot() slotName { return slotName{e.Topic, e.Slot} }

// never is later than everything.
const never = math.MaxInt64

type check struct {
	Report
	rules     Rules
	handlings []*handling         // in the order of their starts
	faults    map[string][]window // by worker
}

// window is a time in which a worker could not finish what it held.
type window struct {
	why      Kind
	from, to int64
}

// longestBatch is how long after a handler its batch may surely be in flight.
const longestBatch = 5 * time.Second

func (c *check) fault(format string, args ...any) {
	const most = 30
	if len(c.Faults) < most {
		c.Faults = append(c.Faults, fmt.Sprintf(format, args...))
	}
}

// Check judges a run by its events, ordered by time, and the contents that were
// sent. Each content was sent once.
func Check(events []Event, sent []string, rules Rules) Report {
	c := &check{rules: rules, faults: map[string][]window{}}
	c.Done = map[string]int{}
	c.collect(events)
	c.slots()
	c.silence()
	c.contents(sent)
	return c.Report
}

// collect pairs starts and ends.
func (c *check) collect(events []Event) {
	open := map[running]*handling{}
	ended := map[string]int64{}
	for _, e := range events {
		switch e.Kind {
		case Kill:
			c.began(e)
			ended[e.Note] = e.At
		case Freeze, Cut, Part, Down:
			c.began(e)
		case Thaw:
			c.ended(Freeze, e)
		case Mend:
			c.ended(Cut, e)
		case Join:
			c.ended(Part, e)
		case Up:
			c.ended(Down, e)
		case Rob:
			c.faults[e.Note] = append(c.faults[e.Note], window{Rob, e.At, e.At + int64(c.rules.Session)})
		case Stall:
			c.Stalls++
			late, _ := time.ParseDuration(e.Note)
			c.faults[e.Worker] = append(c.faults[e.Worker], window{Stall, e.At - int64(late), e.At})
		case Start:
			if h := open[e.running()]; h != nil {
				c.fault("two handlers at once: %s and %s", describe(h.Event), describe(e))
			}
			h := &handling{Event: e, end: never, outcome: Start}
			open[e.running()] = h
			c.handlings = append(c.handlings, h)
		case Done, Fail:
			h := open[e.running()]
			if h == nil {
				c.fault("end without a start: %s", describe(e))
				continue
			}
			delete(open, e.running())
			h.end, h.outcome = e.At, e.Kind
			if e.Kind == Done {
				c.Report.Done[e.Worker]++
			}
		}
	}
	hit := map[string]bool{}
	for _, h := range open {
		if at, killed := ended[h.Worker]; killed {
			h.end, h.outcome = max(at, h.At), Kill
			hit[h.Worker] = true
		} else {
			c.fault("handler never returned: %s", describe(h.Event))
		}
	}
	c.MidBatch = len(hit)
	c.Deliveries = len(c.handlings)
}

func (c *check) began(e Event) {
	c.faults[e.Note] = append(c.faults[e.Note], window{e.Kind, e.At, never})
}

// ended ends the last fault of a kind.
func (c *check) ended(why Kind, e Event) {
	for i, w := range slices.Backward(c.faults[e.Note]) {
		if w.why == why {
			c.faults[e.Note][i].to = e.At
			break
		}
	}
}

// slots checks what must hold within a slot.
func (c *check) slots() {
	bySlot := map[slotName][]*handling{}
	basis := map[string]*handling{}
	for _, h := range c.handlings {
		bySlot[h.slot()] = append(bySlot[h.slot()], h)
		b := h.Topic + "\x00" + c.rules.Basis(h.Content)
		if first := basis[b]; first == nil {
			basis[b] = h
		} else if first.slot() != h.slot() {
			c.fault("one basis, two slots: %s and %s", describe(first.Event), describe(h.Event))
		}
	}
	for _, all := range bySlot {
		var running []*handling
		newest, forgiven := all[0], map[int64]bool{} // forgiven: by fence
		for i, h := range all {
			if h.Fence < newest.Fence {
				if h.late = h.Worker != newest.Worker && !forgiven[h.Fence] && c.mayBeLate(h); h.late {
					forgiven[h.Fence] = c.rules.Session == 0
					c.Late = append(c.Late, h.Event)
					c.Frozen = append(c.Frozen, Overlap{h.Event, newest.Event})
				} else {
					c.fault("fence goes back: %s and %s", describe(newest.Event), describe(h.Event))
				}
			}
			running = slices.DeleteFunc(running, func(r *handling) bool { return r.end <= h.At })
			for _, r := range running {
				switch {
				case h.late && h.Fence < r.Fence: // noted already
				case r.Fence < h.Fence && (r.late || c.outlived(r, h)):
					c.Frozen = append(c.Frozen, Overlap{r.Event, h.Event})
				default:
					c.fault("two handlers at once: %s and %s", describe(r.Event), describe(h.Event))
				}
			}
			running = append(running, h)
			if h.Fence == newest.Fence && i > 0 && (h.Worker != newest.Worker || h.Attempt != newest.Attempt) {
				c.fault("one fence, two batches: %s and %s", describe(newest.Event), describe(h.Event))
			}
			if h.Fence >= newest.Fence {
				newest = h
			}
		}
	}
	for _, h := range c.handlings {
		if h.Attempt < 1 || h.Attempt > c.rules.MaxAttempts {
			c.fault("attempt out of range: %s", describe(h.Event))
		}
	}
}

// contents checks the life of each content.
func (c *check) contents(sent []string) {
	lives := make(map[string][]*handling, len(sent))
	for _, s := range sent {
		if _, twice := lives[s]; twice {
			c.fault("sent twice, which this check does not know: %q", s)
		}
		lives[s] = nil
	}
	for _, h := range c.handlings {
		if _, known := lives[h.Content]; !known {
			c.fault("never sent: %s", describe(h.Event))
		}
		lives[h.Content] = append(lives[h.Content], h)
	}
	for _, content := range slices.Sorted(maps.Keys(lives)) {
		life := lives[content]
		if slices.ContainsFunc(life, func(h *handling) bool { return h.late }) { // it stands where its batch does
			slices.SortStableFunc(life, func(a, b *handling) int { return cmp.Compare(a.Fence, b.Fence) })
		}
		done, spent := false, 0
		for i, h := range life {
			if i > 0 && h.Attempt <= spent {
				c.fault("attempt told twice: %s after attempt %d", describe(h.Event), spent)
			}
			c.Burnt += max(0, h.Attempt-spent-1)
			spent = h.Attempt
			if h.outcome != Done {
				continue
			}
			done = true
			if i < len(life)-1 {
				c.Again = append(c.Again, Again{h.Event, c.cause(h)})
			}
		}
		switch {
		case done:
		case spent == c.rules.MaxAttempts, c.rules.Dead[content]:
			c.Dead++
		case len(life) == 0:
			c.fault("lost: %q was never delivered", content)
		default:
			c.fault("lost: %q was delivered %d times, never done, last: %s", content, len(life), describe(life[len(life)-1].Event))
		}
	}
}

// cause is the fault by which the batch of h could not be finished; empty if there
// is none.
func (c *check) cause(h *handling) Kind {
	for _, w := range slices.Concat(c.faults[h.Worker], c.faults[everybody]) {
		if h.At > w.to && !h.late || w.from-h.end > int64(longestBatch) {
			continue
		}
		finished := slices.ContainsFunc(c.handlings, func(other *handling) bool {
			return other.slot() == h.slot() && other.Fence > h.Fence && other.At < w.from
		})
		if !finished {
			return w.why
		}
	}
	return ""
}

func describe(e Event) string {
	return fmt.Sprintf("[%s %s %s/%d fence %d attempt %d %.60q at %.6f]",
		e.Worker, e.Kind, e.Topic, e.Slot, e.Fence, e.Attempt, e.Content, float64(e.At%1e12)/1e9)
}

// Unexplained counts the repetitions without a cause.
func (r *Report) Unexplained() (n int) {
	for _, a := range r.Again {
		if a.Cause == "" {
			n++
		}
	}
	return n
}

// String reports the figures.
func (r *Report) String() string {
	var by []string
	for _, w := range slices.Sorted(maps.Keys(r.Done)) {
		by = append(by, fmt.Sprintf("%s:%d", w, r.Done[w]))
	}
	const most = 12
	if len(by) > most {
		by = append(by[:most], fmt.Sprintf("and %d more", len(r.Done)-most))
	}
	return fmt.Sprintf("%d deliveries, %d faults, %d done again (%d unexplained), %d attempts burnt unseen, %d dead, %d overlaps of frozen handlers, %d stalls; %s",
		r.Deliveries, len(r.Faults), len(r.Again), r.Unexplained(), r.Burnt, r.Dead, len(r.Frozen), r.Stalls, strings.Join(by, " "))
}
