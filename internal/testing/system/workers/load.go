package workers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/rmq"
)

// Load keeps the slots of a group full.
type Load struct {
	*Group
	Backlog   int // contents that wait or are handled, at the most
	bases     int
	Evenly    map[string][]string // topic: one basis for each slot, to be used in turn
	Poisonous int                 // every so many contents; 0: never
	Poisoned  int                 // contents that can only die
	told      map[string]int      // topic: how many contents it got
	Rate      int                 // contents a second; 0: as many as are handled
	next      time.Time           // when more are sent, at that rate
	at        map[string]int64    // of FixedTime: when, in ms
	Due       map[string]int64    // in ns
	priority  map[string]int64
	Random    *rand.Rand
}

// NewLoad is a load for a group of its own; RMQ_SEED draws it.
func NewLoad(t *testing.T, j Job) *Load {
	t.Helper()
	return NewLoadOn(New(t, j))
}

// NewLoadOn is the load of a group that is there.
func NewLoadOn(g *Group) *Load {
	return &Load{
		Group: g, Backlog: 2000, bases: 128,
		told: map[string]int{}, at: map[string]int64{}, Due: map[string]int64{}, priority: map[string]int64{}, Random: sharetest.Rand(g.T),
	}
}

// Fill sends until the backlog is full, or at the rate.
func (l *Load) Fill() {
	l.T.Helper()
	if now := time.Now(); l.Rate > 0 {
		const together = 24
		if now.Before(l.next) || len(l.Sent)-len(l.Handled)-l.Poisoned > l.Backlog {
			return
		}
		l.next = now.Add(together * time.Second / time.Duration(l.Rate))
		l.Batch(slices.MinFunc(l.Job.Topics, func(a, b rmq.Topic) int { return l.told[a.Name]*b.Slots - l.told[b.Name]*a.Slots }), together)
		return
	}
	for _, t := range l.Job.Topics {
		if len(l.Sent)-len(l.Handled)-l.Poisoned < l.Backlog {
			l.Batch(t, 200)
		}
	}
}

// Batch sends n contents to a topic.
func (l *Load) Batch(t rmq.Topic, n int) {
	l.T.Helper()
	ms := make([]rmq.Message, n)
	for i := range ms {
		k := len(l.Sent) + i
		basis := l.basis(t)
		s := Content(basis, k)
		if l.Poisonous > 0 && k%l.Poisonous == 0 {
			s = Content(basis, k, Poison)
			l.Poisoned++
		}
		ms[i] = l.Message(t, basis, s)
	}
	l.Send(t, ms...)
}

func (l *Load) basis(t rmq.Topic) string {
	n := l.told[t.Name]
	l.told[t.Name]++
	if all := l.Evenly[t.Name]; all != nil {
		return all[n%len(all)]
	}
	return fmt.Sprintf("%s-b%03d", t.Name, l.Random.IntN(l.bases))
}

// Message makes a message for a topic, and notes when it is due.
func (l *Load) Message(t rmq.Topic, basis, content string) rmq.Message {
	now := time.Now()
	l.Due[content] = now.UnixNano()
	switch t.Kind {
	case rmq.KindRangeMerge:
		l.Due[content] = now.Add(time.Millisecond).UnixNano()
		return rmq.RangeMerge{Content: content, SlotBasis: basis, Range: time.Millisecond}
	case rmq.KindPriority:
		l.priority[content] = 17 + l.Random.Int64N(1000)
		return rmq.Priority{Content: content, SlotBasis: basis, Priority: l.priority[content]}
	}
	at := now.Add(time.Duration(200+l.Random.IntN(400)) * time.Millisecond)
	l.at[content], l.Due[content] = at.UnixMilli(), at.UnixNano()
	return rmq.FixedTime{Content: content, SlotBasis: basis, At: at}
}

// During keeps the slots full until cond holds.
func (l *Load) During(what string, cond func() bool) {
	l.T.Helper()
	l.Await(what, func() bool {
		l.Fill()
		return cond()
	})
}

// Drain sends nothing more and waits until all is done or dead.
func (l *Load) Drain() {
	l.T.Helper()
	l.Await("everything sent is done", func() bool { return len(l.Handled)+l.Poisoned == len(l.Sent) })
	l.Await("what cannot be done is dead", func() bool {
		l.Dead = l.DeadOnes() // a kill may hide the last delivery of one
		return len(l.Dead) == l.Poisoned
	})
	l.AwaitAtRest()
}

// Done counts what handlers have done so far.
func (l *Load) Done() (sum int) {
	for _, n := range l.By {
		sum += n
	}
	return sum
}

// Untouched fails the test unless everything was delivered once, as attempt 1.
func (l *Load) Untouched(r proctest.Report) {
	l.T.Helper()
	if r.Deliveries != len(l.Sent) || len(r.Again) != 0 || r.Burnt != 0 || r.Dead != 0 {
		l.T.Errorf("%d contents were sent; a stop or a start of a worker cost something: %v", len(l.Sent), &r)
	}
	for _, e := range l.Events() {
		switch {
		case e.Kind == proctest.Fail:
			l.T.Errorf("a handler was cut short: %+v", e)
		case e.Kind == proctest.Start && e.Attempt != 1:
			l.T.Errorf("an attempt was spent: %+v", e)
		}
	}
}

// InTime fails the test if something was delivered early, or with another priority:
// only a retry's may be unknown.
func (l *Load) InTime() {
	l.T.Helper()
	for _, e := range l.Events() {
		if e.Kind != proctest.Start {
			continue
		}
		if e.Priority != l.priority[e.Content] && (e.Attempt == 1 || e.Priority != 0) {
			l.T.Errorf("a priority was not kept: %+v, want %d", e, l.priority[e.Content])
		}
		if at, timed := l.at[e.Content]; timed && e.At/1e6 < at {
			l.T.Errorf("delivered %d ms early: %+v", at-e.At/1e6, e)
		}
	}
}

// Seen is a condition: an event of a worker was read.
func (l *Load) Seen(worker string, kind proctest.Kind) func() bool {
	return func() bool { return l.Saw(worker, kind) }
}
