package schedule

import (
	"testing"
	"time"
)

func TestReserve(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ limit, topics, most, want int }{
		{64, 1, 64, 32}, {64, 2, 64, 16}, {64, 33, 64, 1}, {64, 64, 64, 1}, {64, 65, 64, 0}, {1, 1, 1, 1}, {64, 2, 3, 3}, {64, 10_000, 64, 0},
	} {
		if got := reserve(c.limit, c.topics, c.most); got != c.want {
			t.Errorf("%+v: %d are kept", c, got)
		}
	}
}

func TestPlacesAreShared(t *testing.T) {
	t.Parallel()
	s, topics := stage(8, 16, 16)
	taken := s.takeAll()
	slow, fast := topics[0], topics[1]
	// The first topic came first; half of the other's share is kept for it.
	if len(taken) != 8 || slow.used != 6 || fast.used != 2 || s.permits.used != 8 {
		t.Errorf("%d taken: %d and %d", len(taken), slow.used, fast.used)
	}
	// A place given back goes to the topic that uses fewest.
	for _, x := range taken {
		if x.topic == slow && fast.used < 4 {
			x.Rest(Facts{Fence: 1}, time.Time{})
			s.takeAll()
		}
	}
	if slow.used != 4 || fast.used != 4 {
		t.Errorf("later: %d and %d", slow.used, fast.used)
	}
}

// A slot whose topic uses more than its share gives its place to another's,
// and one that had it for long to any that waits.
func TestSlotsYield(t *testing.T) {
	t.Parallel()
	s, topics := stage(8, 16, 16)
	for _, x := range s.takeAll() {
		x.Again(took(), time.Time{})
	}
	for _, h := range s.Next(100, nil) {
		if want := h.Slot.topic == topics[0]; h.Leave != want { // 6 of 4, and 2 of 4
			t.Errorf("%v slot %d leaves: %v", h.Slot.topic == topics[0], h.Slot.Index, h.Leave)
		}
	}

	s, topics = stage(1, 2)
	x := s.takeAll()[0]
	x.Again(took(), time.Time{})
	if s.takeOne(t).Leave {
		t.Error("it yields at once")
	}
	if !x.Wanted() {
		t.Error("nobody wants its place")
	}
	x.Again(took(), time.Time{})
	s.clock = s.clock.Add(time.Second)
	if !s.takeOne(t).Leave {
		t.Error("it never yields")
	}
	x.Left(Facts{Fence: 1})
	next := s.takeAll()
	if len(next) != 1 || next[0] == x || topics[0].waiting.first != x || topics[0].waiting.length != 1 {
		t.Error("the other has no place, or this one does not wait")
	}
}

// A batch ends early when a slot of its own topic waits, or one of a topic with fewer places;
// not for a topic that has as many.
func TestWanted(t *testing.T) {
	t.Parallel()
	s, topics := stage(2, 1, 1)
	one, other := s.takeOne(t).Slot, s.takeOne(t).Slot
	one.Work(took())
	other.Work(took())
	if one.Wanted() {
		t.Error("it is wanted, and nothing waits")
	}
	s, topics = stage(3, 4, 4)
	s.Unassign(topics[1])
	for _, h := range s.Next(8, nil) {
		if h.Leave {
			h.Slot.Left(Facts{})
		} else {
			h.Slot.Work(took())
		}
	}
	var atWork []int
	for _, x := range topics[0].slots {
		if x.state == Working {
			atWork = append(atWork, x.Index)
		}
	}
	topics[0].Assign(s.term, atWork) // so that none of its slots waits
	busy := topics[0].slots[0]
	topics[1].Assign(s.term, upTo(4))
	for i := range topics[1].slots {
		topics[1].Wake(i, 0)
	}
	s.takeAll()
	if topics[0].used <= topics[1].used || topics[0].waiting.length > 0 || topics[1].waiting.length == 0 {
		t.Fatalf("%d and %d places are used", topics[0].used, topics[1].used)
	}
	if !busy.Wanted() {
		t.Error("a topic with fewer places waits, and the place is not wanted")
	}
	if !topics[1].slots[0].Wanted() { // its own topic's slots wait
		t.Error("slots of its own topic wait, and the place is not wanted")
	}
}

// A slot that has finished nothing yields to nobody: it has just been given its place.
func TestOnlyABatchYields(t *testing.T) {
	t.Parallel()
	s, _ := stage(1, 2)
	s.clock = s.clock.Add(time.Hour)
	if h := s.takeOne(t); h.Leave {
		t.Error("a turn that was to take leaves")
	}
}

// A slot keeps its place from batch to batch while no other waits, and its place goes with it.
func TestPlaceIsKeptFromBatchToBatch(t *testing.T) {
	t.Parallel()
	s, topics := stage(2, 1)
	x := s.takeAll()[0]
	for range 5 {
		s.clock = s.clock.Add(time.Second)
		x.Again(took(), time.Time{})
		if h := s.takeOne(t); h.Leave || topics[0].used != 1 {
			t.Fatalf("leaves %v, with %d places", h.Leave, topics[0].used)
		}
		if since, now := x.Work(took()); !now || s.clock.Sub(since) < time.Second {
			t.Fatalf("it has its place since %v", since)
		}
	}
}

func TestBorrowedPlaces(t *testing.T) {
	t.Parallel()
	s, topics := stage(8, 1)
	x := s.takeAll()[0]
	for range 2 {
		if got := x.Borrow(100); got != 7 || s.permits.used != 8 {
			t.Errorf("borrowed %d", got)
		}
	}
	for range 8 {
		x.ReturnOne() // the last one has nothing to give back
	}
	if got := x.Borrow(-1); got != 0 || s.permits.used != 1 {
		t.Errorf("borrowed %d of -1; %d used", got, s.permits.used)
	}
	x.Borrow(5)
	x.Rest(Facts{Fence: 1}, time.Time{})
	if s.permits.used != 0 || x.permit.borrowed != 0 || topics[0].used != 0 {
		t.Errorf("asleep with %d places", s.permits.used)
	}
}

// A parallel batch has its places before its turn, one for each message and no more than
// there are. A turn that leaves, or has no answer, has none beside its own.
func TestParallelBatchHasItsPlacesBeforeItsTurn(t *testing.T) {
	t.Parallel()
	s, topics := stage(8, 2)
	topics[0].Together = func() int { return 5 }
	first, second := s.takeOne(t), s.takeOne(t)
	if first.Permits != 5 || second.Permits != 3 || s.permits.used != 8 {
		t.Errorf("they have %d and %d places", first.Permits, second.Permits)
	}
	open := took()
	open.Open, open.Failures = true, 1
	first.Slot.Repeat(open, s.clock)
	if s.permits.used != 4 || first.Slot.permit.borrowed != 0 {
		t.Errorf("a turn without an answer has %d places too many", first.Slot.permit.borrowed)
	}
	s.wakeDue()
	if h := s.takeOne(t); h.Permits != 1 { // it is the same turn, which has taken what it has taken
		t.Errorf("the repeated turn has %d places", h.Permits)
	}
	s.Unassign(topics[0])
	second.Slot.Again(took(), time.Time{})
	if h := s.takeOne(t); !h.Leave || h.Permits != 1 {
		t.Errorf("the turn that leaves has %d places", h.Permits)
	}
}

// A turn without an answer keeps its place once: it may have taken a batch. When it has
// none again, others get the place.
func TestTurnWithoutAnAnswerKeepsItsPlaceOnce(t *testing.T) {
	t.Parallel()
	s, topics := stage(1, 2)
	x := s.takeOne(t).Slot
	x.Repeat(Facts{Open: true, Failures: 1}, s.clock.Add(time.Second))
	if !x.permit.held || s.ready.length != 0 {
		t.Error("it has lost its place at once")
	}
	s.clock = s.clock.Add(time.Second)
	s.wakeDue()
	if h := s.takeOne(t); h.Slot != x || !h.Facts.Open {
		t.Errorf("slot %d, open %v", h.Slot.Index, h.Facts.Open)
	}
	x.Repeat(Facts{Open: true, Failures: 2}, s.clock.Add(time.Second))
	if x.permit.held || s.takeOne(t).Slot != topics[0].slots[1] {
		t.Error("it keeps its place from the others")
	}
	// It is repeated without a place, and takes part in no queue for one.
	s.clock = s.clock.Add(time.Second)
	s.wakeDue()
	if h := s.takeOne(t); h.Slot != x || topics[0].waiting.length != 0 {
		t.Error("a turn without an answer waits for a place")
	}
}

// What a handler that hangs had goes to others at once.
func TestHungHandlerHasNoPlace(t *testing.T) {
	t.Parallel()
	for _, replace := range []bool{false, true} {
		s, topics := stage(3, 2)
		topics[0].Together = func() int { return 3 }
		x := s.takeOne(t).Slot
		x.Work(took())
		if s.permits.used != 3 {
			t.Fatalf("%d places are used", s.permits.used)
		}
		if replace {
			x.ReplaceHung()
		} else {
			x.MarkHung()
		}
		if x.permit.held || x.permit.borrowed != 0 {
			t.Error("it keeps its places")
		}
		if h := s.takeOne(t); h.Slot != topics[0].slots[1] || h.Leave {
			t.Error("the other slot gets none of them")
		}
	}
}

// A slot whose turn had no answer for long has given up its place. If its batch is
// told after all, it waits for one.
func TestBatchWaitsForItsPlace(t *testing.T) {
	t.Parallel()
	p := playOf(2, 4, 2)
	p.takes = func(*Slot) time.Duration { return time.Hour }
	given := map[*Slot]time.Time{}
	p.start = func(x *Slot, since time.Time) {
		given[x] = since
		p.handle(x)
	}
	p.enter()
	lost := p.topics[0].slots[0]
	if p.running[lost].IsZero() {
		t.Fatal("slot 0 is not the first")
	}
	noAnswer := func() {
		delete(p.running, lost)
		lost.Again(took(), time.Time{})
		p.Next(8, nil)
		f := took()
		for f.Open, f.Failures = true, 1; f.Failures <= 2; f.Failures++ {
			lost.Repeat(f, p.clock.Add(time.Hour))
		}
		p.turn() // another has the place now
	}
	told := func() {
		p.clock = p.clock.Add(time.Hour)
		p.wakeDue()
		if h := p.takeOne(t); h.Slot != lost || !h.Facts.Open {
			t.Fatalf("slot %d turns, open %v", h.Slot.Index, h.Facts.Open)
		}
		if _, now := lost.Work(took()); now {
			t.Error("it is handled beyond the limit")
		}
		lost.AwaitPermit()
	}
	noAnswer()
	if len(p.running) != 2 || p.permits.used != 2 {
		t.Fatalf("%d handlers, %d places", len(p.running), p.permits.used)
	}
	told()
	if len(p.running) != 2 || lost.state != Waiting || p.topics[0].waiting.first != lost {
		t.Errorf("%d handlers; the slot is %d", len(p.running), lost.state)
	}
	for x := range p.running { // one ends, and yields to what waits
		delete(p.running, x)
		p.clock = p.clock.Add(time.Second)
		x.Again(took(), time.Time{})
		break
	}
	p.turn()
	if p.running[lost].IsZero() || given[lost] != p.clock || !lost.permit.held || p.most > 2 {
		t.Errorf("the batch is not the next; %d handlers", p.most)
	}

	// One that is let go meanwhile is handed back without a place.
	noAnswer()
	told()
	p.Unassign(p.topics[0])
	if p.running[lost].IsZero() || !given[lost].IsZero() || lost.permit.held {
		t.Error("the batch still waits, or would be handled")
	}
}

// A batch that a turn has taken for a slot that is to be left begins nothing, though
// places are free.
func TestBatchOfASlotToBeLeftIsGivenBack(t *testing.T) {
	t.Parallel()
	s, topics := stage(4, 1)
	given := []time.Time{}
	s.start = func(_ *Slot, since time.Time) { given = append(given, since) }
	x := s.takeOne(t).Slot
	x.Repeat(Facts{Open: true, Failures: 2}, s.clock) // it has no place any more
	s.Unassign(topics[0])
	s.wakeDue()
	s.takeOne(t)
	if _, now := x.Work(took()); now {
		t.Error("it is handled")
	}
	x.AwaitPermit()
	if len(given) != 1 || !given[0].IsZero() || s.permits.used != 0 {
		t.Errorf("it is started with places since %v; %d are used", given, s.permits.used)
	}
}

// While the schedule is suspended nothing is taken, also by what is ready already; what
// is at work reports. Afterwards it goes on.
func TestSuspended(t *testing.T) {
	t.Parallel()
	s, topics := stage(2, 4)
	works := s.takeOne(t).Slot
	works.Work(took())
	s.Terms.Suspend(true)
	for h := s.takeOne(t); ; h = s.takeOne(t) { // the other place was given before
		if !h.Leave {
			t.Error("a turn takes")
		}
		h.Slot.Left(Facts{Fence: 1})
		if s.ready.length == 0 {
			break
		}
	}
	works.Again(took(), time.Time{})
	if h := s.takeOne(t); h.Slot != works || !h.Leave {
		t.Error("what is at work does not report, or takes")
	}
	works.Left(Facts{Fence: 1})
	if s.ready.length != 0 || topics[0].waiting.length != 4 || s.permits.used != 0 {
		t.Errorf("%d are ready, %d wait, %d places are used", s.ready.length, topics[0].waiting.length, s.permits.used)
	}
	s.Terms.Suspend(false)
	if taken := s.takeAll(); len(taken) != 2 {
		t.Errorf("%d go on", len(taken))
	}
}

// With few places for many slots, those that wait for one are not busy: the gap between the turns of the
// others would grow with them, and the places be idle in it.
func TestWhatWaitsForAPlaceIsNotBusy(t *testing.T) {
	t.Parallel()
	p, _ := stage(3, 8, 8)
	if n, share := p.Busy(); n != 3 || share != 1 {
		t.Errorf("%d slots are busy, with %v of all", n, share)
	}
	p.takeAll()
	if n, _ := p.Busy(); n != 3 {
		t.Errorf("%d slots are busy with batches", n)
	}
}
