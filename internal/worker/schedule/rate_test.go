package schedule

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/sharing/share"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/internal/worker/flow"
)

// shop is several workers of one topic that has a rate, on one clock of their own.
type shop struct {
	t        *testing.T
	random   *rand.Rand
	rate     Rate
	slots    int
	clock    time.Time
	tick     time.Duration
	workers  map[string]*hand
	backlog  func(slot int) int // how many messages a turn finds there
	handBack bool               // some of what is taken
	takes    func() time.Duration
	ended    func(h *hand, x *Slot) // nil: no matter; x has its place still
	begun    int
	waits    map[int]time.Time // slot → when its last batch was begun, or it was first there
	longest  time.Duration     // that a slot waited
}

// hand is one of them.
type hand struct {
	*play
	topic *Topic
	moves time.Time // when it hears of the present members
	own   []int     // the slots that it will have then
	ends  map[*Slot]time.Time
	taken map[*Slot]Facts
}

func newShop(t *testing.T, random *rand.Rand, slots int, r Rate) *shop {
	return &shop{t: t, random: random, rate: r, slots: slots, clock: time.Now(), tick: time.Millisecond, workers: map[string]*hand{},
		backlog: func(int) int { return 1000 }, waits: map[int]time.Time{},
		takes: func() time.Duration { return time.Duration(1+random.IntN(5)) * time.Millisecond }}
}

// come has a worker join.
func (s *shop) come(id string) {
	h := &hand{play: playOf(s.slots, s.slots, s.slots), ends: map[*Slot]time.Time{}, taken: map[*Slot]Facts{}}
	h.clock = s.clock
	h.topic = h.topics[0]
	r := s.rate
	r.Phase = s.random.Float64()
	h.topic.SetRate(r)
	h.start = func(*Slot, time.Time) { panic("a batch waited for its place") }
	s.workers[id] = h
	s.shareOut()
}

// leave has a worker go. What it has in hand is handed back.
func (s *shop) leave(id string) {
	delete(s.workers, id)
	s.shareOut()
}

// shareOut shares the slots out. Each worker hears of it by itself.
func (s *shop) shareOut() {
	ids := make([]string, 0, len(s.workers))
	for id := range s.workers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for id, own := range share.Of(ids, s.slots) {
		s.workers[id].own = own
		s.workers[id].moves = s.clock.Add(time.Duration(s.random.IntN(10)) * time.Millisecond)
	}
}

// pass lets time pass, and returns how many messages were begun.
func (s *shop) pass(d time.Duration) int {
	before := s.begun
	for end := s.clock.Add(d); s.clock.Before(end); {
		s.clock = s.clock.Add(s.tick)
		for _, h := range s.workers {
			h.clock = s.clock
			s.work(h)
		}
	}
	return s.begun - before
}

func (s *shop) work(h *hand) {
	if !h.moves.IsZero() && !h.moves.After(s.clock) {
		h.moves = time.Time{}
		h.topic.Assign(h.term, h.own)
		for _, i := range h.own {
			h.topic.Wake(i, 0)
			if _, known := s.waits[i]; !known {
				s.waits[i] = s.clock
			}
		}
	}
	h.wakeDue()
	for x, end := range h.ends {
		if !end.After(s.clock) {
			delete(h.ends, x)
			f := h.taken[x]
			if s.ended != nil {
				s.ended(h, x)
			}
			x.Again(f, time.Time{})
		}
	}
	for h.ready.length > 0 {
		for _, hand := range h.Next(8, nil) {
			s.turn(h, hand)
		}
	}
	if s.random.IntN(16) == 0 {
		h.check(s.t)
	}
}

// turn answers a turn: batches are of what was paid for or less, and take some ms.
func (s *shop) turn(h *hand, hand Hand) {
	x := hand.Slot
	f := Facts{Fence: 1}
	if hand.Leave {
		if x.Leaving() {
			f.Fence = 0
		}
		x.Left(f)
		return
	}
	n := min(s.backlog(x.Index), hand.Most)
	if n == 0 {
		x.Rest(f, s.clock.Add(20*time.Millisecond))
		return
	}
	f.Held, f.Taken = true, n
	if _, now := x.Work(f); !now {
		s.t.Fatal("a slot paid, and has no place")
	}
	if s.handBack && s.random.IntN(10) == 0 { // some are handed back
		f.Taken = s.random.IntN(n + 1)
	}
	s.begun += f.Taken
	if f.Taken > 0 {
		s.longest = max(s.longest, s.clock.Sub(s.waits[x.Index]))
		s.waits[x.Index] = s.clock
	}
	h.taken[x], h.ends[x] = f, s.clock.Add(s.takes())
}

// churn has workers come and go, and keeps three to five.
func (s *shop) churn(names *int) {
	if len(s.workers) > 3 && (len(s.workers) == 5 || s.random.IntN(2) == 0) {
		for id := range s.workers {
			s.leave(id)
			return
		}
	}
	*names++
	s.come("w" + strconv.Itoa(*names))
}

// The rate holds within 5 % in every second, while workers come and go.
func TestRateHoldsInEverySecond(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	for _, perSecond := range []float64{500, 3000} {
		s := newShop(t, random, 64, Rate{PerSecond: perSecond, Burst: perSecond / 20})
		s.handBack = true
		names := 0
		for range 3 {
			s.churn(&names)
		}
		s.pass(time.Second) // they begin
		least, most := 1e9, 0.0
		for range 40 {
			s.pass(time.Duration(random.IntN(1000)) * time.Millisecond)
			s.churn(&names)
			n := float64(s.pass(time.Second))
			least, most = min(least, n), max(most, n)
		}
		t.Logf("%g/s: %g to %g in a second, with %d workers in all", perSecond, least, most, names)
		if least < 0.95*perSecond || most > 1.05*perSecond {
			t.Errorf("%g/s: %g to %g in a second", perSecond, least, most)
		}
		if t.Failed() {
			return
		}
	}
}

// A rate that is much lower than the number of slots holds over a long time, also where workers
// live shorter than the time for one message, and no slot waits for ever.
func TestLowRates(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	for _, low := range lowestRates {
		perSecond := low.perSecond
		s := newShop(t, random, 64, Rate{PerSecond: perSecond, Burst: 1})
		s.tick = 100 * time.Millisecond
		names := 0
		for range 3 {
			s.churn(&names)
		}
		seconds := 300 / perSecond
		n := s.pass(time.Duration(seconds) * time.Second)
		if t.Failed() {
			return
		}
		want := perSecond * seconds
		bound := low.longest + time.Second
		t.Logf("%g/s over %g s: %d, %g are right; a slot waited %v at the longest, %v are promised", perSecond, seconds, n, want, s.longest, bound)
		if float64(n) < 0.97*want-3 || float64(n) > 1.03*want+4 {
			t.Errorf("%g/s over %g s: %d begun, %g are right", perSecond, seconds, n, want)
		}
		if s.longest > bound {
			t.Errorf("a slot waited %v, with %g/s", s.longest, perSecond)
		}
		// Workers that live for half the time that one of them needs for a message.
		s = newShop(t, random, 64, Rate{PerSecond: perSecond, Burst: 1})
		s.tick = 200 * time.Millisecond
		for range 3 {
			s.churn(&names)
		}
		n = 0
		for range 300 {
			n += s.pass(time.Duration(0.5 / perSecond * float64(time.Second)))
			for id := range s.workers {
				s.leave(id)
				break
			}
			s.come(fmt.Sprint("short", names))
			names++
		}
		if n < 100 || n > 200 {
			t.Errorf("workers that come and go begin %d messages, and not about 150", n)
		}
		t.Logf("workers that come and go begin %d messages of 150", n)
	}
}

// A rate is no reason for fewer handlers, or all would be fewer when it is raised. Where it does not
// bind, fewer are tried.
func TestRateIsNoBottleneck(t *testing.T) {
	t.Parallel()
	const takes = 100 * time.Millisecond
	for _, perSecond := range []float64{200, 2000} { // 640 could be handled
		s := newShop(t, sharetest.Rand(t), 64, Rate{PerSecond: perSecond, Burst: perSecond / 20})
		s.backlog, s.takes = func(int) int { return 1 }, func() time.Duration { return takes }
		limit, least, most := flow.New("", 1, 64), 64, 0
		s.ended = func(h *hand, x *Slot) {
			d := x.topic.Demand()
			n := limit.Finished(flow.Batch{End: s.clock, Took: takes, Busy: takes, Good: 1, Places: d.Permits, Waiting: d.Waiting, Full: d.Full})
			x.topic.Allow(ByFlow, n)
			least, most = min(least, n), max(most, d.Permits)
		}
		s.come("me")
		s.pass(30 * time.Second)
		t.Logf("%g/s: %d handlers at the least, %d have run", perSecond, least, most)
		if binds := perSecond == 200; binds != (least == 64) || binds != (most < 64) {
			t.Errorf("%g/s: %d handlers at the least, %d have run", perSecond, least, most)
		}
	}
}

// After a time with nothing to do no more than the burst begins at once, and one of each worker.
func TestBurst(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	for _, burst := range []float64{1, 40, 400} {
		s := newShop(t, random, 64, Rate{PerSecond: 500, Burst: burst})
		full := false
		s.backlog = func(int) int {
			if !full {
				return 0
			}
			return 1000
		}
		for _, id := range []string{"a", "b", "c"} {
			s.come(id)
		}
		s.pass(10 * time.Second)
		full = true
		n := s.pass(time.Second)
		if most := int(525 + burst + 3); n > most || float64(n) < 475+burst-3 {
			t.Errorf("%d begin in the first second, after a burst of %g", n, burst)
		}
		if n = s.pass(time.Second); n < 475 || n > 525 {
			t.Errorf("%d begin in the next", n)
		}
	}
}

// Workers that start together believe for a moment to have more slots than their share. They begin no more than the
// rate all the same, and the burst and one of each.
func TestFirstSecond(t *testing.T) {
	t.Parallel()
	s := newShop(t, sharetest.Rand(t), 64, Rate{PerSecond: 100, Burst: 5})
	s.come("a")
	for _, id := range []string{"b", "c"} {
		s.pass(10 * time.Millisecond) // each hears of those before it
		before := maps.Clone(s.workers)
		s.come(id)
		for _, h := range before { // and they of it much later
			h.moves = s.clock.Add(100 * time.Millisecond)
		}
	}
	s.pass(time.Second)
	if s.begun > 108 || s.begun < 70 {
		t.Errorf("%d begin in the first second", s.begun)
	}
	if n := s.pass(time.Second); n > 108 || n < 95 {
		t.Errorf("%d begin in the next", n)
	}
}

// Slots that are gained bring their part of the rate, and no tokens.
func TestGainedSlotsDoNotBurst(t *testing.T) {
	t.Parallel()
	s := newShop(t, sharetest.Rand(t), 64, Rate{PerSecond: 500, Burst: 500})
	s.come("a")
	s.come("b")
	s.pass(5 * time.Second)
	s.leave("a")
	if n := s.pass(time.Second); n < 475 || n > 525 {
		t.Errorf("%d begin in the second in which all slots move", n)
	}
}

// A topic that waits for tokens keeps no other from its places, reports its batches at once, and
// goes on by itself.
func TestDryTopic(t *testing.T) {
	t.Parallel()
	s, topics := stage(4, 4, 4)
	topics[0].SetRate(Rate{PerSecond: 1, Burst: 1})
	s.clock = s.clock.Add(settles + time.Second)
	s.wakeDue()
	begun := 0
	for s.ready.length > 0 {
		h := s.takeOne(t)
		switch {
		case h.Slot.topic == topics[0] && h.Leave:
			h.Slot.Left(Facts{})
		case h.Slot.topic == topics[0]:
			begun++
			f := took()
			f.Taken = 1
			h.Slot.Work(f)
			h.Slot.Again(f, time.Time{})
		default:
			h.Slot.Work(took())
		}
		s.check(t)
	}
	if begun != 1 || topics[0].used != 0 || topics[1].used != 3 { // one is kept for the other
		t.Errorf("%d begun, %d and %d places in use", begun, topics[0].used, topics[1].used)
	}
	s.clock = s.clock.Add(time.Second - time.Millisecond)
	if s.wakeDue(); s.ready.length != 0 {
		t.Error("a slot takes a turn without a token")
	}
	s.clock = s.clock.Add(time.Millisecond)
	if s.wakeDue(); s.ready.length != 1 {
		t.Error("no slot takes a turn with a token")
	}
	topics[0].SetRate(Rate{})
	if s.check(t); topics[0].used != 1 { // the other has the rest
		t.Errorf("without a rate it has %d places", topics[0].used)
	}
}

// counter is a stage of one topic with a rate and n slots that are all asleep, with tokens for
// some messages.
func counter(n int, tokens float64) (*play, *Topic) {
	s := playOf(n, n, n)
	t := s.topics[0]
	t.SetRate(Rate{PerSecond: 1, Burst: 100, Phase: 0})
	t.Assign(s.term, upTo(n))
	t.rated.bucket.tokens = tokens
	return s, t
}

// taken is what is known of a slot whose turn was given n messages.
func taken(n int) Facts { return Facts{Held: true, Fence: 1, Taken: n} }

// What a turn did not take is there for the next slot at once; also while the batch goes on, and
// what was taken and not begun when it ends.
func TestTokensComeBackAtOnce(t *testing.T) {
	t.Parallel()
	s, topic := counter(3, 4)
	topic.slots[0].took = 2 // so it pays for 4
	for i := range 3 {
		topic.Wake(i, 0)
	}
	first := s.takeOne(t)
	if first.Most != 4 || s.ready.length != 0 {
		t.Fatalf("it pays for %d, and %d others can pay", first.Most, s.ready.length)
	}
	first.Slot.Work(taken(3))
	s.check(t)
	second := s.takeOne(t) // with what the first did not take
	if second.Most != 1 || s.ready.length != 0 {
		t.Fatalf("it pays for %d, and %d others can pay", second.Most, s.ready.length)
	}
	second.Slot.Rest(Facts{Fence: 1}, time.Time{})
	s.check(t)
	third := s.takeOne(t) // with that of the second, which found nothing
	third.Slot.Work(taken(1))
	topic.Wake(1, 0)
	if s.ready.length != 0 {
		t.Fatal("a slot can pay")
	}
	first.Slot.Again(taken(1), time.Time{}) // two were not begun
	s.check(t)
	for i := range 2 {
		if h := s.takeOne(t); h.Leave || h.Most != 1 || h.Slot.Index != 1-i && h.Slot != first.Slot {
			t.Errorf("slot %d pays for %d, leaves: %v", h.Slot.Index, h.Most, h.Leave)
		}
	}
}

// Slots that need few messages do not wait for one another: each pays for twice what it took
// last, and the first time for one, or for what its listener wants.
func TestSlotsPayForWhatTheyTake(t *testing.T) {
	t.Parallel()
	for wants, want := range map[int][]int{0: {1, 6, 1}, 5: {5, 6, 5}} {
		s, topic := counter(3, 50)
		topic.Wants = wants
		topic.slots[1].took = 3
		for i := range 3 {
			topic.Wake(i, 0)
			if h := s.takeOne(t); h.Most != want[i] {
				t.Errorf("slot %d pays for %d, not %d", i, h.Most, want[i])
			}
		}
	}
}

// A slot whose messages are handled side by side takes no more places than it has paid for.
func TestPlacesOfABatchThatIsPaidFor(t *testing.T) {
	t.Parallel()
	s, topic := counter(8, 50)
	topic.Together = func() int { return 8 }
	topic.slots[0].took = 1
	topic.Wake(0, 0)
	if h := s.takeOne(t); h.Most != 2 || h.Permits != 2 {
		t.Errorf("it pays for %d, and has %d places", h.Most, h.Permits)
	}
}

// A slot that comes while others wait for tokens goes behind them, also where there are some
// already that they have not been given yet.
func TestNoSlotOvertakes(t *testing.T) {
	t.Parallel()
	s, topic := counter(3, 0)
	topic.SetRate(Rate{PerSecond: 1000, Burst: 50})
	s.clock = s.clock.Add(settles)
	topic.Wake(0, 0)
	s.clock = s.clock.Add(2 * time.Millisecond) // they are given 5 at a time
	topic.Wake(1, 0)
	if s.ready.length != 0 {
		t.Fatalf("%d overtake", s.ready.length)
	}
	// Nor does one that has its place already.
	topic.slots[2].took = 3
	s.set(topic.slots[2], Working)
	s.permits.give(topic.slots[2])
	topic.slots[2].Again(taken(3), time.Time{})
	if h := s.takeOne(t); h.Slot.Index != 2 || !h.Leave {
		t.Errorf("slot %d leaves: %v", h.Slot.Index, h.Leave)
	}
	s.clock = s.clock.Add(3 * time.Millisecond)
	s.wakeDue()
	for i := range 2 {
		if h := s.takeOne(t); h.Slot.Index != i {
			t.Errorf("slot %d is served, not %d", h.Slot.Index, i)
		}
	}
}

// A token may come between the look that finds none and the one that queues the slot. The slot does not wait for another event
// then, which may never come.
func TestTokensThatComeMeanwhile(t *testing.T) {
	t.Parallel()
	for step := range 50 {
		p := playOf(8, 4, 8)
		topic := p.topics[0]
		p.passes = time.Duration(step) * 100 * time.Microsecond
		topic.SetRate(Rate{PerSecond: 300, Burst: 1})
		p.assignAll()
		p.clock = p.clock.Add(settles)
		p.check(t)
		for range 20 {
			for p.ready.length > 0 {
				for _, h := range p.Next(1, nil) {
					h.Slot.Rest(Facts{}, time.Time{})
					p.check(t)
				}
			}
			for i := range topic.slots {
				topic.Wake(i, 0)
				p.check(t)
			}
			p.clock = p.clock.Add(time.Millisecond)
			p.wakeDue()
			p.check(t)
		}
		if t.Failed() {
			t.Fatalf("with steps of %v", p.passes)
		}
	}
}
