package schedule

import (
	"container/heap"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/internal/worker/flow"
)

// worker is one with two topics, whose schedule is the real one. Turns take no time. What is
// behind the handlers of the first topic serves eight at a time, and work always waits for it; the
// second gets some messages at once, now and then.
type worker struct {
	*Schedule
	random  *rand.Rand
	slow    *Topic
	other   *Topic
	limit   *flow.Limit // of the slow one; nil: none
	at      time.Time
	behind  [8]time.Time // when each is free
	running handlings
	waiting [64][]time.Time // messages of the other topic by slot: when they came
	took    []time.Duration // by these, from then to their end
}

// handling is a batch of one message.
type handling struct {
	slot             *Slot
	came, begun, end time.Time
}

type handlings []handling

func (h handlings) Len() int           { return len(h) }
func (h handlings) Less(i, j int) bool { return h[i].end.Before(h[j].end) }
func (h handlings) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *handlings) Push(x any)        { *h = append(*h, x.(handling)) }
func (h *handlings) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

func newWorker(random *rand.Rand, limit *flow.Limit, busy bool) *worker {
	w := &worker{random: random, limit: limit, at: time.Now()}
	topic := func(name string) *Topic {
		return &Topic{Name: name, Slots: 64, Most: 64, NewSlot: func(int) *Slot { return &Slot{} }}
	}
	w.slow, w.other = topic("slow"), topic("other")
	w.Schedule = New(64, []*Topic{w.slow, w.other}, func() time.Time { return w.at }, nil)
	in, all := &term{id: "me"}, upTo(64)
	w.Terms.Begin(in)
	for _, t := range []*Topic{w.slow, w.other} {
		t.Assign(in, all)
		for i := range all {
			if t == w.other || busy {
				t.Wake(i, 0)
			}
		}
	}
	w.turns()
	return w
}

// turns takes those that are ready.
func (w *worker) turns() {
	for w.ready.length > 0 {
		for _, h := range w.Next(8, nil) {
			x, f := h.Slot, Facts{Fence: 1}
			mine := &w.waiting[x.Index]
			switch {
			case h.Leave:
				x.Left(f)
			case x.Topic() == w.other && len(*mine) == 0:
				x.Rest(f, time.Time{})
			case x.Topic() == w.other:
				came := (*mine)[0]
				*mine = (*mine)[1:]
				w.handle(x, w.at.Add(5*time.Millisecond), came)
			default:
				first := slices.MinFunc(w.behind[:], time.Time.Compare)
				free := slices.Index(w.behind[:], first)
				if first.Before(w.at) {
					first = w.at
				}
				w.behind[free] = first.Add(10*time.Millisecond + time.Duration(w.random.Int64N(int64(20*time.Millisecond))))
				w.handle(x, w.behind[free], w.at)
			}
		}
	}
}

func (w *worker) handle(x *Slot, until, came time.Time) {
	x.Work(Facts{Fence: 1, Held: true})
	heap.Push(&w.running, handling{x, came, w.at, until})
}

// run goes on for a time, in which the other topic gets 48 messages each 200 ms.
func (w *worker) run(d time.Duration) {
	until, next := w.at.Add(d), w.at
	for w.at.Before(until) {
		if len(w.running) == 0 || w.running[0].end.After(next) {
			w.at, next = next, next.Add(200*time.Millisecond)
			for _, i := range w.random.Perm(64)[:48] {
				w.waiting[i] = append(w.waiting[i], w.at)
				w.other.Wake(i, 0)
			}
			w.turns()
			continue
		}
		h := heap.Pop(&w.running).(handling)
		w.at = h.end
		if h.slot.Topic() == w.other {
			w.took = append(w.took, w.at.Sub(h.came))
		} else if w.limit != nil {
			d, took := w.slow.Demand(), h.end.Sub(h.begun)
			w.slow.Allow(ByFlow, w.limit.Finished(flow.Batch{
				End: w.at, Took: took, Busy: took, Good: 1, Places: d.Permits, Waiting: d.Waiting, Full: d.Full,
			}))
		}
		h.slot.Again(Facts{Fence: 1, Held: true}, time.Time{})
		w.turns()
	}
}

// p99 is how long all but the slowest hundredth of the other topic's messages took.
func (w *worker) p99() time.Duration {
	slices.Sort(w.took)
	return w.took[len(w.took)*99/100]
}

// The bottleneck of one topic does not slow another one: it has fewer places, which the other has.
func TestNeighbourIsNotSlowed(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	measure := func(limit *flow.Limit, busy bool) time.Duration {
		w := newWorker(random, limit, busy)
		w.run(30 * time.Second)
		w.took = nil
		w.run(2 * time.Minute)
		return w.p99()
	}
	alone, beside, limited := measure(nil, false), measure(nil, true), measure(flow.New("", 1, 64), true)
	t.Logf("p99 alone %v, beside the slow topic %v (%.1f), beside it with a limit %v (%.1f)",
		alone, beside, float64(beside)/float64(alone), limited, float64(limited)/float64(alone))
	if float64(beside) < 3*float64(alone) || float64(limited) > 1.2*float64(alone) {
		t.Error("the limit helps too little, or nothing was slow")
	}
}
