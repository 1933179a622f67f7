package consumer

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/message"
)

// play is a worker without Redis: the schedule is the real one, turns take no
// time, and a clock of its own says when handlers end.
type play struct {
	*schedule
	topics  []*topic
	clock   time.Time
	waits   func(x *slot) bool          // whether there is something to take
	takes   func(x *slot) time.Duration // how long the handlers of a batch do
	running map[*slot]time.Time         // until when
	turns   int
	most    int // handlers at once
	began   func(x *slot)
}

// playOf has as many topics as most has entries, each the topic's Concurrency.
func playOf(limit, slots int, most ...int) *play {
	p := &play{clock: time.Now(), running: map[*slot]time.Time{}, began: func(*slot) {}}
	for i, n := range most {
		t := newTopic(message.Topic{Name: strconv.Itoa(i), Kind: message.KindPriority, Slots: slots}, "", nil, ListenOptions{Concurrency: n})
		t.makeSlots()
		p.topics = append(p.topics, t)
	}
	p.schedule = newSchedule(limit, p.topics, p.handle)
	p.now = func() time.Time { return p.clock }
	p.waits = func(*slot) bool { return true }
	p.takes = func(*slot) time.Duration { return 10 * time.Millisecond }
	return p
}

// enter gives all slots to the worker.
func (p *play) enter() {
	me := &term{id: "me", log: zap.NewNop()}
	p.begin(me)
	for _, t := range p.topics {
		all := make([]int, len(t.slots))
		for i := range all {
			all[i] = i
		}
		p.own(t, me, all)
		for i := range all {
			p.wake(t, i, 0)
		}
	}
	p.turn()
}

// turn takes the turns that are ready.
func (p *play) turn() {
	for p.queues.length > 0 {
		slots, leave := p.next(8, nil, nil)
		for i, x := range slots {
			p.turns++
			x.held = false
			switch {
			case leave[i]:
				p.leave(x)
			case p.waits(x):
				x.held = true
				if p.work(x) {
					p.handle(x)
				} else {
					p.line(x)
				}
			default:
				p.rest(x, time.Time{})
			}
		}
	}
}

func (p *play) handle(x *slot) {
	p.running[x] = p.clock.Add(p.takes(x))
	p.most = max(p.most, len(p.running))
	p.began(x)
}

// step moves the clock to when the next handler ends.
func (p *play) step() {
	var first *slot
	for x, end := range p.running {
		if first == nil || end.Before(p.running[first]) {
			first = x
		}
	}
	p.clock = p.running[first]
	delete(p.running, first)
	p.again(first, time.Time{})
	p.turn()
}

func all(n, most int) []int { return slices.Repeat([]int{most}, n) }

func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("RMQ_SEED"); s != "" {
		seed, _ = strconv.ParseUint(s, 10, 64)
	}
	t.Logf("RMQ_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, seed))
}

// While there are as many places as topics, each topic keeps some for itself: a
// due message begins at once, however many slots of the others have handlers that
// never return.
func TestEachTopicKeepsAPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ places, topics, busy int }{
		{1, 1, 0}, {2, 2, 1}, {5, 3, 2}, {8, 2, 1}, {64, 33, 4}, {64, 33, 32}, {64, 64, 63}, {100, 3, 2}, {7, 6, 5},
	} {
		for _, most := range []int{1, 2, c.places} {
			p := playOf(c.places, 64, all(c.topics, most)...)
			p.waits = func(x *slot) bool { return slices.Index(p.topics, x.topic) < c.busy }
			p.takes = func(*slot) time.Duration { return time.Hour }
			p.enter()
			if c.busy > 0 {
				if want := min(c.places-c.topics+c.busy, c.busy*most); c.topics > c.places/2 && len(p.running) != want {
					t.Errorf("%+v, %d each: %d handlers, want %d", c, most, len(p.running), want)
				}
			}
			kept := min(max(1, c.places/c.topics/2), most)
			p.waits = func(*slot) bool { return true }
			for _, quick := range p.topics[c.busy:] {
				begun := 0
				p.began = func(x *slot) {
					if x.topic == quick {
						begun++
					}
				}
				for i := range kept {
					p.wake(quick, i, 0)
				}
				p.turn()
				if begun != kept {
					t.Errorf("%+v, %d each: topic %s has %d handlers, want %d at once", c, most, quick.Name, begun, kept)
				}
			}
			if p.most > c.places {
				t.Errorf("%+v: %d handlers at once", c, p.most)
			}
		}
	}
}

// With more busy topics than places, each is served within topics/places slices,
// and the handler that is running then.
func TestTopicsTakeTurns(t *testing.T) {
	t.Parallel()
	random := seeded(t)
	for range 60 {
		places := 1 + random.IntN(20)
		n := places + 1 + random.IntN(100)
		longest := time.Duration(1+random.IntN(500)) * time.Millisecond
		uneven := random.IntN(2) == 0
		p := playOf(places, 1<<random.IntN(5), all(n, 1+random.IntN(places))...)
		p.takes = func(x *slot) time.Duration {
			if uneven && random.IntN(10) > 0 {
				return time.Millisecond
			}
			return longest
		}
		last := map[*topic]time.Time{}
		for _, x := range p.topics {
			last[x] = p.clock
		}
		// Whatever is under way at first ends within one.
		bound := time.Duration((n+places-1)/places) * (slice + longest)
		worst := time.Duration(0)
		p.began = func(x *slot) {
			worst = max(worst, p.clock.Sub(last[x.topic]))
			last[x.topic] = p.clock
		}
		begin := p.clock
		p.enter()
		for p.clock.Sub(begin) < 4*bound {
			p.step()
		}
		for _, x := range p.topics {
			worst = max(worst, p.clock.Sub(last[x]))
		}
		if worst > bound || p.most != places {
			t.Errorf("%d topics, %d places, %d slots, handlers up to %v: one waited for %v, want %v; %d handlers at once",
				n, places, len(p.topics[0].slots), longest, worst, bound, p.most)
		}
	}
}

// Places are shared out evenly in the end, whoever came first.
func TestSharesBecomeEven(t *testing.T) {
	t.Parallel()
	p := playOf(30, 64, all(4, 30)...)
	p.enter()
	for range 1000 {
		p.step()
	}
	for _, x := range p.topics {
		if x.used < 7 || x.used > 8 {
			t.Errorf("topic %s has %d of 30 places", x.Name, x.used)
		}
	}
	// Then nobody yields any more, but for the slice.
	turns, begun := p.turns, 0
	p.began = func(*slot) { begun++ }
	for range 3000 {
		p.step()
	}
	if turns = p.turns - turns; turns > begun*6/5 {
		t.Errorf("%d turns for %d batches", turns, begun)
	}
}

// Of topics that have equally many places, the one that was given one least
// recently is served first.
func TestTiesOfPlaces(t *testing.T) {
	t.Parallel()
	p := playOf(1, 2, all(5, 1)...)
	var order []string
	p.began = func(x *slot) { order = append(order, x.topic.Name) }
	p.takes = func(*slot) time.Duration { return 2 * slice }
	p.enter()
	for range 10 {
		p.step()
	}
	// Round after round in the same order.
	if rounds := order[:5]; !slices.Equal(order[5:10], rounds) || !slices.Equal(slices.Sorted(slices.Values(rounds)), []string{"0", "1", "2", "3", "4"}) {
		t.Errorf("served in the order %s", order)
	}
}

// A topic that is at its own limit could not use a place, so nobody yields to it.
func TestNobodyYieldsInVain(t *testing.T) {
	t.Parallel()
	p := playOf(16, 16, 16, 2)
	p.enter()
	limited, other := p.topics[1], p.topics[0]
	if limited.used != 2 || limited.waiting.length != 14 || other.used != 14 {
		t.Fatalf("%d and %d places", other.used, limited.used)
	}
	leaves := 0
	for range 200 {
		turns := p.turns
		for x := range p.running {
			if x.topic == other {
				delete(p.running, x)
				p.clock = p.clock.Add(time.Second)
				p.again(x, time.Time{})
				break
			}
		}
		p.turn()
		leaves += p.turns - turns - 1
	}
	// Its own two slots that wait take turns with the others, and no more do.
	if leaves > 200 {
		t.Errorf("%d turns too many in 200", leaves)
	}
	p.waits = func(x *slot) bool { return x.topic == limited || x.index < 14 }
	for other.waiting.length > 0 {
		p.step()
	}
	turns := p.turns
	for range 50 {
		for x := range p.running {
			if x.topic == other {
				delete(p.running, x)
				p.clock = p.clock.Add(time.Second)
				p.again(x, time.Time{})
				break
			}
		}
		p.turn()
	}
	if turns = p.turns - turns; turns != 50 {
		t.Errorf("%d turns for 50 batches, though nobody could use the places", turns)
	}
}

// A slot whose turn had no answer for long has given up its place. If its batch is
// told after all, it waits for one.
func TestBatchWaitsForItsPlace(t *testing.T) {
	t.Parallel()
	p := playOf(2, 4, 2)
	p.takes = func(*slot) time.Duration { return time.Hour }
	p.enter()
	lost := p.topics[0].slots[0]
	if p.running[lost].IsZero() {
		t.Fatal("slot 0 is not the first")
	}
	delete(p.running, lost)
	p.again(lost, time.Time{})
	p.next(8, nil, nil)
	lost.open = true
	for lost.failures = 1; lost.failures <= 2; lost.failures++ {
		p.pause(lost, p.clock)
	}
	p.turn() // another has the place now
	if len(p.running) != 2 || p.used != 2 {
		t.Fatalf("%d handlers, %d places", len(p.running), p.used)
	}
	told := func(x *slot) {
		p.mu.Lock()
		x.open, x.held = false, true
		p.set(x, turning)
		p.mu.Unlock()
		if p.work(x) {
			t.Error("it is handled beyond the limit")
		}
		p.line(x)
	}
	told(lost)
	if len(p.running) != 2 || lost.state != waiting || p.topics[0].waiting.first != lost {
		t.Errorf("%d handlers; the slot is %d", len(p.running), lost.state)
	}
	for x := range p.running { // one ends, and yields to what waits
		delete(p.running, x)
		p.clock = p.clock.Add(time.Second)
		p.again(x, time.Time{})
		break
	}
	p.turn()
	if p.running[lost].IsZero() || lost.denied || !lost.place || p.most > 2 {
		t.Errorf("the batch is not the next; %d handlers", p.most)
	}

	// One that is let go meanwhile is handed back without a place.
	delete(p.running, lost)
	p.again(lost, time.Time{})
	p.next(8, nil, nil)
	lost.failures = 2
	p.pause(lost, p.clock)
	p.turn()
	told(lost)
	p.own(p.topics[0], p.topics[0].term, nil)
	if p.running[lost].IsZero() || !lost.denied || lost.place {
		t.Error("the batch still waits, or would be handled")
	}
}

// Whatever happens, the sums are right, and nobody waits who could begin.
func TestPlacesAreCountedRight(t *testing.T) {
	t.Parallel()
	random := seeded(t)
	for range 30 {
		n := 1 + random.IntN(12)
		most := make([]int, n)
		for i := range most {
			most[i] = 1 + random.IntN(10)
		}
		p := playOf(1+random.IntN(16), 4, most...)
		for _, x := range p.topics {
			x.opts.Parallel = random.IntN(3) == 0
		}
		p.waits = func(*slot) bool { return random.IntN(3) > 0 }
		p.takes = func(*slot) time.Duration { return time.Duration(random.IntN(200)) * time.Millisecond }
		p.enter()
		me := p.topics[0].term
		for range 300 {
			x := p.topics[random.IntN(n)]
			switch random.IntN(8) {
			case 0:
				p.own(x, me, random.Perm(4)[:random.IntN(5)])
			case 1:
				p.suspend(!p.suspended)
			case 2, 3:
				p.wake(x, random.IntN(4), 0)
			default:
				if len(p.running) > 0 {
					p.step()
				}
			}
			p.turn()
			p.check(t)
		}
		p.suspend(false)
		p.stop()
		p.waits = func(*slot) bool { return false }
		for len(p.running) > 0 {
			p.step()
		}
		p.turn()
		p.check(t)
		if p.used != 0 || p.active != 0 || p.waiters.Load() != 0 || len(p.hungry) != 0 {
			t.Errorf("in the end %d places are used, %d slots are active, %d wait", p.used, p.active, p.waiters.Load())
		}
	}
}

func (p *play) check(t *testing.T) {
	t.Helper()
	used, kept, waiters, starving := 0, 0, 0, 0
	for _, x := range p.topics {
		mine, waits := 0, 0
		for _, s := range x.slots {
			mine += s.borrowed
			if s.place {
				mine++
			}
			if s.state == waiting {
				waits++
			}
		}
		if mine != x.used || waits != x.waiting.length || mine > x.opts.Concurrency {
			t.Errorf("topic %s: %d places counted as %d, %d waiting as %d", x.Name, mine, x.used, waits, x.waiting.length)
		}
		used, waiters, kept = used+mine, waiters+waits, kept+max(0, x.reserve-mine)
		if hungry := waits > 0 && mine < x.opts.Concurrency; hungry != (x.inHeap >= 0) {
			t.Errorf("topic %s is hungry: %t, place %d among them", x.Name, hungry, x.inHeap)
		}
		if waits > 0 && p.free(x) {
			starving++
		}
	}
	if used != p.used || kept != p.kept || waiters != int(p.waiters.Load()) || used+kept > p.limit || starving > 0 {
		t.Errorf("%d places counted as %d, %d kept as %d, of %d; %d waiting as %d, of %d topics in vain",
			used, p.used, kept, p.kept, p.limit, waiters, p.waiters.Load(), starving)
	}
}
