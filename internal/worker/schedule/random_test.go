package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// Whatever happens, the sums are right, and no slot waits that could begin.
func TestPlacesAreCountedRight(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	for range 30 {
		n := 1 + random.IntN(12)
		most := make([]int, n)
		for i := range most {
			most[i] = 1 + random.IntN(10)
		}
		p := playOf(1+random.IntN(16), 4, most...)
		for _, x := range p.topics {
			if random.IntN(3) == 0 {
				x.Together = func() int { return 1 + random.IntN(4) }
			}
		}
		p.waits = func(*Slot) bool { return random.IntN(3) > 0 }
		p.takes = func(*Slot) time.Duration { return time.Duration(random.IntN(200)) * time.Millisecond }
		p.enter()
		for range 300 {
			x := p.topics[random.IntN(n)]
			switch random.IntN(9) {
			case 0:
				x.Assign(p.term, random.Perm(4)[:random.IntN(5)])
			case 1:
				p.Terms.Suspend(!p.permits.suspended)
			case 2, 3:
				x.Wake(random.IntN(4), 0)
			case 4:
				p.allow(x, Limiter(random.IntN(int(limiters))), random.IntN(12))
			default:
				if len(p.running) > 0 {
					p.step()
				}
			}
			p.turn()
			p.check(t)
		}
		p.Terms.Suspend(false)
		for _, x := range p.topics {
			p.unlimit(x)
		}
		p.check(t)
		p.Stop()
		p.waits = func(*Slot) bool { return false }
		for len(p.running) > 0 {
			p.step()
		}
		p.turn()
		p.check(t)
		if p.permits.used != 0 || p.active != 0 || p.permits.waiters.Load() != 0 || len(p.permits.waiting.all) != 0 {
			t.Errorf("in the end %d places are used, %d slots are active, %d wait", p.permits.used, p.active, p.permits.waiters.Load())
		}
	}
}

// world is a worker that does everything there is, in any order. The test plays the writers,
// the handlers, and Redis.
type world struct {
	*play
	t       *testing.T
	random  *rand.Rand
	turning []Hand                  // with a writer
	working []*Slot                 // being handled
	leaves  map[*Slot]bool          // of a turn without an answer: it was to leave
	known   map[*Slot]Facts         // of those in hand
	need    map[*Slot]bool          // it was woken, and has not been turned at since
	held    map[*Topic]map[int]bool // as the moves have it
	terms   int
}

func newWorld(t *testing.T, random *rand.Rand) *world {
	most := make([]int, 1+random.IntN(6))
	for i := range most {
		most[i] = 1 + random.IntN(6)
	}
	w := &world{
		play: playOf(1+random.IntN(8), 1+random.IntN(4), most...), t: t, random: random,
		leaves: map[*Slot]bool{}, known: map[*Slot]Facts{}, need: map[*Slot]bool{}, held: map[*Topic]map[int]bool{},
	}
	w.Moves.Record()
	for _, topic := range w.topics {
		if random.IntN(3) == 0 {
			topic.Together = func() int { return 1 + random.IntN(4) }
		}
		if random.IntN(3) == 0 {
			topic.Gather = time.Duration(1+random.IntN(300)) * time.Millisecond
		}
	}
	w.start = func(x *Slot, since time.Time) {
		if since.IsZero() == x.permit.held {
			t.Errorf("a batch is started with a place since %v, and has one: %v", since, x.permit.held)
		}
		w.working = append(w.working, x)
	}
	w.term.session = random.IntN(2) == 0
	w.Terms.Begin(w.term)
	return w
}

// do does one thing.
func (w *world) do() {
	topic := w.topics[w.random.IntN(len(w.topics))]
	slot := w.random.IntN(topic.Slots)
	switch w.random.IntN(27) {
	case 0, 1:
		topic.Assign(w.term, w.random.Perm(topic.Slots)[:w.random.IntN(topic.Slots+1)])
	case 2, 3, 4:
		w.wake(topic, slot)
	case 5:
		topic.Wake(slot, time.Duration(w.random.IntN(1000))*time.Millisecond)
	case 6:
		w.clock = w.clock.Add(time.Duration(w.random.IntN(500)) * time.Millisecond)
		w.wakeDue()
	case 7:
		w.Terms.Suspend(!w.permits.suspended)
	case 8:
		if len(w.working) > 0 && w.random.IntN(4) == 0 {
			if x := w.working[w.random.IntN(len(w.working))]; x.hung {
			} else if x.term.(*term).session {
				x.MarkHung()
			} else {
				x.ReplaceHung()
			}
		}
	case 9:
		if w.term.session && w.random.IntN(4) == 0 {
			w.Terms.End()
			topic.Wake(slot, 0)
			topic.Asked(slot, w.term.id)
			w.check(w.t)
			w.terms++
			w.term = &term{id: fmt.Sprint("me", w.terms), session: true}
			w.Terms.Begin(w.term)
		}
	case 10:
		topic.Asked(slot, []string{w.term.id, "me", "me1", "me+1", "me+2", "stranger"}[w.random.IntN(6)])
	case 11:
		for _, x := range w.Sleeping(w.Assigned(topic)) {
			if x.Unseen {
				w.wake(topic, x.Index)
			}
		}
	case 12:
		if len(w.working) > 0 {
			x := w.working[w.random.IntN(len(w.working))]
			if x.topic.Together != nil && !x.hung && x.permit.held {
				x.Borrow(w.random.IntN(4))
				x.ReturnOne()
			}
		}
	case 13:
		w.allow(topic, Limiter(w.random.IntN(int(limiters))), w.random.IntN(8)-1)
	case 14:
		if len(w.working) > 0 {
			w.giveUp(w.working[w.random.IntN(len(w.working))])
		}
	case 26:
		r := Rate{Phase: w.random.Float64()}
		if w.random.IntN(3) > 0 {
			r.PerSecond, r.Burst = 0.5+10*w.random.Float64(), float64(w.random.IntN(20))
		}
		topic.SetRate(r)
	case 15, 16, 17, 18:
		w.next()
	case 19, 20, 21, 22:
		w.answer()
	default:
		w.finish()
	}
}

func (w *world) wake(topic *Topic, index int) {
	if x := topic.slots[index]; x.assigned {
		w.need[x] = true
	}
	topic.Wake(index, 0)
}

// giveUp asks for a batch whether it must end.
func (w *world) giveUp(x *Slot) {
	places := func() int { return x.topic.used }
	before, allowed, borrowed, place := places(), x.topic.allowed, x.permit.borrowed, x.permit.held
	over := x.GiveUp()
	if over != (before > allowed) {
		w.t.Errorf("topic %s uses %d places of %d, and a batch ends: %v", x.topic.Name, before, allowed, over)
	}
	if over && borrowed == 0 && place && places() != before-1 {
		w.t.Errorf("topic %s uses %d places, and %d after a batch ended", x.topic.Name, before, places())
	}
	if over {
		x.ReturnOne()
	}
}

// next takes some turns.
func (w *world) next() {
	if w.ready.length == 0 {
		return
	}
	for _, h := range w.Next(1+w.random.IntN(4), nil) {
		if !h.Facts.Open {
			w.leaves[h.Slot] = h.Leave
		}
		if !h.Leave && !h.Facts.Open && !h.Slot.permit.held {
			w.t.Errorf("topic %s slot %d may take, and has no place", h.Slot.topic.Name, h.Slot.Index)
		}
		if rated := h.Slot.topic.rated != nil; !h.Facts.Open && (h.Most > 0) != (rated && !h.Leave) {
			w.t.Errorf("topic %s slot %d may take %d, by a rate: %v, leave: %v", h.Slot.topic.Name, h.Slot.Index, h.Most, rated, h.Leave)
		}
		if !w.leaves[h.Slot] { // also if it is repeated
			delete(w.need, h.Slot)
		}
		w.turning = append(w.turning, h)
	}
}

// answer answers a turn.
func (w *world) answer() {
	if len(w.turning) == 0 {
		return
	}
	i := w.random.IntN(len(w.turning))
	h := w.turning[i]
	w.turning = slices.Delete(w.turning, i, i+1)
	x, f := h.Slot, h.Facts
	if w.random.IntN(4) == 0 {
		f.Open, f.Failures = true, f.Failures+1
		x.Repeat(f, w.clock.Add(time.Duration(w.random.IntN(300))*time.Millisecond))
		return
	}
	f.Open, f.Failures, f.Held, f.Taken = false, 0, false, 0
	if w.leaves[x] {
		if x.Leaving() {
			f.Fence = 0
		}
		x.Left(f)
		return
	}
	f.Fence, f.Holder, f.Unavailable, f.More = f.Fence+1, "", false, false
	at := []time.Time{{}, w.clock.Add(time.Duration(w.random.IntN(1000)) * time.Millisecond)}[w.random.IntN(2)]
	switch w.random.IntN(8) {
	case 0, 1:
		f.More = w.random.IntN(4) == 0
		x.Rest(f, at)
	case 2:
		f.Holder, f.Unavailable = "other", true
		x.Rest(f, w.clock.Add(time.Second))
	case 3:
		x.Again(f, time.Time{})
	default:
		f.Held, f.Few, f.Taken = true, w.random.IntN(2) == 0, 1+w.random.IntN(8)
		if h.Most > 0 {
			f.Taken = min(f.Taken, h.Most)
		}
		w.known[x] = f
		if _, now := x.Work(f); now {
			w.working = append(w.working, x)
		} else {
			x.AwaitPermit()
		}
	}
}

// finish ends a batch.
func (w *world) finish() {
	if len(w.working) == 0 {
		return
	}
	i := w.random.IntN(len(w.working))
	x := w.working[i]
	w.working = slices.Delete(w.working, i, i+1)
	f := w.known[x]
	f.Taken = w.random.IntN(f.Taken + 1)
	at := []time.Time{{}, w.clock.Add(time.Millisecond)}[w.random.IntN(2)]
	x.Again(f, at)
}

// hands looks whether each slot in hand is in one hand, and the schedule knows.
func (w *world) hands() {
	seen := map[*Slot]bool{}
	note := func(x *Slot, want State) {
		if seen[x] || x.state != want {
			w.t.Errorf("topic %s slot %d is in hand, in state %d, twice: %v", x.topic.Name, x.Index, x.state, seen[x])
		}
		seen[x] = true
	}
	for _, h := range w.turning {
		note(h.Slot, Turning)
	}
	for _, x := range w.working {
		note(x, Working)
	}
	inHand := 0
	for _, topic := range w.topics {
		for _, x := range slices.Concat(topic.replaced, topic.slots) {
			if x.state == Turning || x.state == Working {
				inHand++
			}
		}
	}
	if inHand != len(seen) {
		w.t.Errorf("%d slots are in hand, and the schedule believes %d", len(seen), inHand)
	}
}

// moved looks whether the moves lead to what the worker holds.
func (w *world) moved() {
	if len(w.Moves.all) > 0 {
		moved := map[Move]bool{} // in this step
		for _, m := range w.Moves.Next(nil) {
			back := m
			back.Gained = !m.Gained
			if moved[m] = true; moved[back] {
				w.t.Errorf("topic %s slot %d moves to and fro: %+v", m.Topic.Name, m.Slot, m)
			}
			if w.held[m.Topic] == nil {
				w.held[m.Topic] = map[int]bool{}
			}
			if w.held[m.Topic][m.Slot] == m.Gained || m.ID == "" {
				w.t.Errorf("topic %s slot %d moves to where it is: %+v", m.Topic.Name, m.Slot, m)
			}
			w.held[m.Topic][m.Slot] = m.Gained
		}
	}
	for _, topic := range w.topics {
		for i := range topic.slots {
			if held := slices.Contains(topic.Holding(), i); held != w.held[topic][i] {
				w.t.Errorf("topic %s slot %d is held: %v, and the moves say %v", topic.Name, i, held, !held)
			}
		}
	}
}

// calm goes on until there is nothing to do.
func (w *world) calm() {
	for w.ready.length+len(w.turning)+len(w.working)+w.delayed()+len(w.rates.throttled.all) > 0 {
		w.next()
		w.answer()
		w.finish()
		w.clock = w.clock.Add(time.Second)
		w.wakeDue()
		w.check(w.t)
	}
}

func (w *world) delayed() (n int) {
	for _, x := range w.sleepers.all {
		if x.state == Delayed || x.gathers {
			n++
		}
	}
	return n
}

// Whatever happens in whatever order: no more places are in use than there are, each slot
// is in one place, two turns under one id are never under way, a slot that was woken is
// turned at, and in the end nothing is left over.
func TestAnythingInAnyOrder(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	for range night.Times(100, 1000) {
		w := newWorld(t, random)
		for range 400 {
			w.do()
			w.check(t)
			w.hands()
			w.moved()
			for x := range w.need {
				if !x.assigned { // if it comes back, it is looked at
					delete(w.need, x)
				}
			}
			if t.Failed() {
				return
			}
		}
		w.Terms.Suspend(false)
		if random.IntN(2) == 0 {
			for _, topic := range w.topics {
				w.unlimit(topic)
			}
			w.check(t)
		}
		w.calm()
		for x := range w.need {
			if x.assigned && x.topic.allowed > 0 {
				t.Errorf("topic %s slot %d was woken, and is not turned at", x.topic.Name, x.Index)
			}
		}
		w.Stop()
		w.calm()
		w.moved()
		left := 0
		for _, topic := range w.topics {
			left += len(topic.replaced)
		}
		if w.permits.used+w.active+left+int(w.permits.waiters.Load())+len(w.sleepers.all)+len(w.permits.waiting.all)+len(w.rates.throttled.all) > 0 {
			t.Errorf("in the end %d places are used, %d slots are active, %d are set aside, %d wait, %d sleep until a time",
				w.permits.used, w.active, left, w.permits.waiters.Load(), len(w.sleepers.all))
		}
		if t.Failed() {
			return
		}
	}
}
