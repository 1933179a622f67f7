package schedule

import (
	"testing"
	"time"
)

// A topic has as many places as the strictest of those who limit it allows, and gets more at once
// when that is lifted.
func TestAllow(t *testing.T) {
	t.Parallel()
	s, topics := stage(8, 8)
	s.allow(topics[0], ByFlow, 3)
	s.allow(topics[0], ByPushback, 5)
	s.allow(topics[0], ByPolicy, 100)
	if got := topics[0].Allowed(); got != 3 {
		t.Errorf("%d are allowed", got)
	}
	for s.ready.length > 3 { // those that had a place already only report
		if h := s.takeOne(t); !h.Leave {
			t.Fatalf("slot %d takes, with %d places in use", h.Slot.Index, topics[0].used)
		} else {
			h.Slot.Left(Facts{})
		}
		s.check(t)
	}
	if taken := s.takeAll(); len(taken) != 3 {
		t.Errorf("%d are taken", len(taken))
	}
	s.allow(topics[0], ByFlow, 8)
	if taken := s.takeAll(); len(taken) != 2 || topics[0].used != 5 {
		t.Errorf("%d more are taken, %d in use", len(taken), topics[0].used)
	}
	s.allow(topics[0], ByPushback, -1)
	if got := topics[0].Allowed(); got != 0 {
		t.Errorf("%d are allowed", got)
	}
	s.check(t)
}

// As many batches under way end early as there are places too many, and no more. Their slots
// report, and then wait.
func TestBatchesGiveUpWhatIsNotAllowedAnyMore(t *testing.T) {
	t.Parallel()
	for _, allowed := range []int{0, 1, 5, 8} {
		s, topics := stage(8, 8)
		taken := s.takeAll()
		s.allow(topics[0], ByBreaker, allowed)
		ended := 0
		for _, x := range taken {
			if x.GiveUp() {
				ended++
				x.Again(took(), time.Time{})
			}
		}
		if ended != 8-allowed || topics[0].used != allowed {
			t.Errorf("%d batches end, %d go on, of %d", ended, topics[0].used, allowed)
		}
		for range ended {
			h := s.takeOne(t)
			if !h.Leave || !h.Facts.Held {
				t.Errorf("slot %d does not report, or takes", h.Slot.Index)
			}
			h.Slot.Left(Facts{Fence: 1})
		}
		s.check(t)
		if s.ready.length != 0 || topics[0].waiting.length != ended {
			t.Errorf("%d are ready, and %d wait", s.ready.length, topics[0].waiting.length)
		}
		s.allow(topics[0], ByBreaker, 8)
		if again := s.takeAll(); len(again) != ended {
			t.Errorf("%d go on", len(again))
		}
	}
}

// A slot that has finished its batch gives its place to another topic when its own has too
// many; as many of its slots as must.
func TestFinishedSlotsGiveUpAsManyPlacesAsTheyMust(t *testing.T) {
	t.Parallel()
	s, topics := stage(8, 16, 16)
	taken := s.takeAll()
	limited, other := topics[0], topics[1]
	if limited.used != 6 {
		t.Fatalf("%d places are used", limited.used)
	}
	s.allow(limited, ByFlow, 2)
	for _, x := range taken {
		if x.topic == limited {
			x.Again(took(), time.Time{})
		}
	}
	leave := 0
	for _, h := range s.Next(6, nil) {
		if h.Leave {
			leave++
		}
	}
	if leave != 4 || limited.used != 2 || other.used != 6 {
		t.Errorf("%d leave; %d and %d places", leave, limited.used, other.used)
	}
}

// A turn without an answer keeps the place in which its batch would be handled: it is repeated
// unchanged, whatever is allowed meanwhile.
func TestOpenTurnKeepsItsPlaceUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	s, topics := stage(4, 1)
	x := s.takeOne(t).Slot
	x.Repeat(Facts{Open: true, Failures: 1}, s.clock)
	s.allow(topics[0], ByFlow, 0)
	s.wakeDue()
	if h := s.takeOne(t); h.Slot != x || !x.permit.held {
		t.Error("it has lost its place")
	}
	if _, now := x.Work(took()); !now || !x.GiveUp() || x.permit.held {
		t.Error("its batch is handled, or waits")
	}
	s.check(t)
}

// What is kept for a topic that it may not use is for the others.
func TestNothingIsKeptForWhatIsNotAllowed(t *testing.T) {
	t.Parallel()
	p := playOf(8, 16, 8, 8)
	for _, x := range p.topics {
		x.Assign(p.term, upTo(16))
	}
	limited, other := p.topics[0], p.topics[1]
	p.allow(limited, ByBreaker, 0)
	for i := range 16 {
		other.Wake(i, 0)
		limited.Wake(i, 0)
	}
	if taken := p.takeAll(); len(taken) != 8 || other.used != 8 {
		t.Errorf("%d are taken, %d places", len(taken), other.used)
	}
	p.check(t)
	p.allow(limited, ByBreaker, 8) // what is kept for it comes back with the places of the other
	p.check(t)
	for x := range other.slots {
		if y := other.slots[x]; y.state == Working {
			y.Again(took(), time.Time{})
		}
	}
	p.turn()
	p.check(t)
	if limited.used < limited.reserve || limited.used == 0 {
		t.Errorf("it has %d places", limited.used)
	}
}

// A topic without a place in front of the others keeps none of them waiting.
func TestLimitedTopicHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	s, topics := stage(4, 8, 8)
	s.allow(topics[0], ByPushback, 0)
	for range 8 { // all that were ready before
		for _, h := range s.Next(8, nil) {
			if h.Leave {
				h.Slot.Left(Facts{})
			} else {
				h.Slot.Work(took())
			}
		}
		s.check(t)
		if s.ready.length == 0 {
			break
		}
	}
	if topics[1].used != 4 || topics[0].used != 0 {
		t.Errorf("%d and %d places", topics[0].used, topics[1].used)
	}
}

// A batch that waits for its place is given back when its topic may have none any more, and so is
// one that comes later.
func TestWaitingBatchIsGivenBackWhenNoneIsAllowed(t *testing.T) {
	t.Parallel()
	s, topics := stage(1, 3)
	var given []*Slot
	s.start = func(x *Slot, since time.Time) {
		if !since.IsZero() {
			t.Error("it is handled")
		}
		given = append(given, x)
	}
	lose := func(x *Slot) { // its turn has no answer for long, so it gives up its place
		x.Repeat(Facts{Open: true, Failures: 2}, s.clock)
		s.wakeDue()
	}
	first := s.takeOne(t).Slot
	lose(first)
	second := s.takeOne(t).Slot // has the place
	if second == first {
		first, second = second, s.takeOne(t).Slot
	} else if s.takeOne(t).Slot != first {
		t.Fatal("another slot turns")
	}
	second.Work(took())
	if _, now := first.Work(took()); now {
		t.Fatal("there are two places")
	}
	first.AwaitPermit()
	s.check(t)
	s.allow(topics[0], ByBreaker, 0)
	if len(given) != 1 || given[0] != first || first.permit.held {
		t.Errorf("%d are given back", len(given))
	}
	s.check(t)
	first.Again(took(), time.Time{})
	h := s.takeOne(t)
	if !h.Leave {
		t.Error("it takes")
	}
	lose(first)
	s.takeOne(t)
	first.Work(took())
	first.AwaitPermit()
	if len(given) != 2 {
		t.Errorf("%d are given back", len(given))
	}
	s.check(t)
}

// A parallel batch gives borrowed places back first, each when its handler has returned.
func TestParallelBatchGivesUpItsBorrowedPlaces(t *testing.T) {
	t.Parallel()
	s, topics := stage(8, 1)
	topics[0].Together = func() int { return 4 }
	x := s.takeOne(t).Slot
	x.Work(took())
	s.allow(topics[0], ByFlow, 2)
	for range 2 {
		if !x.GiveUp() || !x.permit.held {
			t.Error("it keeps what it borrowed, or gives its own place up first")
		}
		x.ReturnOne()
	}
	if x.GiveUp() || topics[0].used != 2 {
		t.Errorf("it has %d places", topics[0].used)
	}
	s.allow(topics[0], ByFlow, 0)
	x.ReturnOne()
	if !x.GiveUp() || x.permit.held || topics[0].used != 0 {
		t.Errorf("it has %d places", topics[0].used)
	}
	s.check(t)
}

// What a topic makes of its places: whether its slots wait for one, whether all that may have one
// do, and whether it is its flow that allows it so few.
func TestDemand(t *testing.T) {
	t.Parallel()
	s, topics := stage(8, 16, 16)
	x := topics[0]
	if d := x.Demand(); !d.Waiting || d.Full || d.Others { // the other topic has two of the places
		t.Errorf("of a topic whose slots wait: %+v", d)
	}
	s.Unassign(x)
	x.Assign(s.term, []int{0, 1})
	s.turn()
	if d := x.Demand(); d.Permits != 2 || d.Waiting || !d.Full {
		t.Errorf("of a topic with two slots, both of which have a place: %+v", d)
	}
	s.allow(x, ByFlow, 1)
	if d := x.Demand(); d.Others {
		t.Errorf("with a limit by its flow: %+v", d)
	}
	for _, by := range []Limiter{ByBreaker, ByPushback, ByPolicy} {
		s.allow(x, by, 0)
		if d := x.Demand(); !d.Others {
			t.Errorf("with a stricter one: %+v", d)
		}
		s.allow(x, by, 1)
		if d := x.Demand(); d.Others {
			t.Errorf("with one that is as strict: %+v", d)
		}
	}
}
