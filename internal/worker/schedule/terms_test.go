package schedule

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// While a handler may run that was begun in a term the schedule says so, also when the slot was
// set aside; not of one that ignores its context, and not of a result that waits to be reported.
func TestHandling(t *testing.T) {
	t.Parallel()
	s := playOf(2, 3, 2)
	s.term = &term{id: "first", session: true}
	s.Terms.Begin(s.term)
	s.assignAll()
	slots := slices.Clone(s.topics[0].slots)
	s.Next(8, nil) // slots 0 and 1
	if s.Terms.Handling(s.term) {
		t.Error("nothing is handled yet")
	}
	for i, x := range slots[:2] {
		x.Work(took())
		for _, ended := range []bool{false, true} {
			if ended {
				s.Terms.End()
			}
			if !s.Terms.Handling(s.term) || s.Terms.Handling(&term{id: "first"}) {
				t.Errorf("slot %d is being handled, and the schedule does not say so; the term has ended: %t", x.Index, ended)
			}
		}
		if i == 0 {
			x.Again(took(), time.Time{})
		} else {
			x.MarkHung()
		}
		if s.Terms.Handling(s.term) {
			t.Errorf("slot %d is not waited for", x.Index)
		}
	}
}

// When a term ends, what carries something is set aside under the old id, and everything
// else lets go of all it has. The next term has a slot for each, under its own id.
func TestEndOfATerm(t *testing.T) {
	t.Parallel()
	s := playOf(5, 9, 5)
	s.term = &term{id: "first", session: true}
	s.Terms.Begin(s.term)
	s.assignAll()
	one := s.topics[0]
	slots := slices.Clone(one.slots)
	hands := s.Next(8, nil) // slots 0 to 4; the others wait
	slots[0].Work(took())
	slots[1].Repeat(Facts{Open: true, Failures: 2}, s.clock.Add(time.Minute)) // slot 5 has its place
	slots[2].Rest(Facts{Fence: 7}, s.clock.Add(time.Hour))                    // and 6 this one
	slots[3].Work(took())
	slots[3].Again(took(), time.Time{}) // ready to report
	if len(hands) != 5 || slots[4].state != Turning || slots[5].state != Ready || slots[7].state != Waiting {
		t.Fatalf("%d turn; the slots are %d, %d, %d", len(hands), slots[4].state, slots[5].state, slots[7].state)
	}
	s.Terms.End()
	if want := []*Slot{slots[0], slots[1], slots[3], slots[4]}; !slices.Equal(one.replaced, want) {
		t.Errorf("%d slots are set aside", len(one.replaced))
	}
	for _, x := range one.replaced {
		if x.id != "first" || !x.Leaving() || x.assigned {
			t.Errorf("slot %d finishes under %s, leaving %v", x.Index, x.id, x.Leaving())
		}
	}
	s.check(t)
	if s.permits.used != 3 || one.waiting.length != 0 || len(s.Assigned(one)) != 0 || s.sleepers.all[0] != slots[1] || len(s.sleepers.all) != 1 {
		t.Errorf("%d places are used, %d slots wait, %d are assigned", s.permits.used, one.waiting.length, len(s.Assigned(one)))
	}
	if gained, lost := one.Assign(s.term, upTo(9)); gained+lost != 0 {
		t.Error("a slot is assigned between two terms")
	}
	for i := range slots {
		one.Wake(i, 0)
	}
	if s.ready.length != 1 || !s.Terms.Carrying(s.term) {
		t.Errorf("%d are ready between two terms", s.ready.length)
	}
	if h := s.takeOne(t); h.Slot != slots[3] || !h.Leave {
		t.Error("what is set aside may take")
	}
	slots[3].Left(Facts{})

	next := &term{id: "next", session: true}
	s.Terms.Begin(next)
	one.Assign(next, upTo(9))
	for i, x := range one.slots {
		one.Wake(i, 0)
		if x.id != "next" || x.facts.Fence != 0 {
			t.Errorf("slot %d takes its turns under %s, with fence %d", x.Index, x.id, x.facts.Fence)
		}
	}
	s.check(t)
	// Each that was set aside finishes, and is waited for until then.
	slots[4].Left(Facts{})
	slots[0].Again(took(), time.Time{})
	s.clock = s.clock.Add(time.Minute)
	s.wakeDue()
	works := 0
	for s.Terms.Carrying(s.term) {
		for _, h := range s.Next(8, nil) {
			if old := h.Slot.id == "first"; old != h.Leave {
				t.Errorf("slot %d under %s leaves: %v", h.Slot.Index, h.Slot.id, h.Leave)
			}
			if h.Leave {
				h.Slot.Left(Facts{})
			} else {
				h.Slot.Work(took())
				works++
			}
		}
	}
	if len(one.replaced) != 0 || works == 0 {
		t.Errorf("%d slots are kept for nothing; %d work in the next term", len(one.replaced), works)
	}
	s.check(t)
}

// On a Cluster the writer that has a slot in hand notes where it is.
func TestReplacedWhileItTurns(t *testing.T) {
	t.Parallel()
	s, _ := stage(4, 1)
	h := s.takeOne(t)
	var writer sync.WaitGroup
	writer.Go(func() { h.Facts.Server = "b" })
	s.Terms.End()
	writer.Wait()
}

// A turn that is under way when the term ends may take nothing. Then its slot, which no turn
// was ever answered at, is not waited for any longer.
func TestFirstTurnAtTheEndOfATerm(t *testing.T) {
	t.Parallel()
	s, topics := stage(2, 1)
	x := s.takeOne(t).Slot
	s.Terms.End()
	if !s.Terms.Carrying(s.term) {
		t.Error("a turn that may have taken a batch is not waited for")
	}
	x.Rest(Facts{}, time.Time{})
	if s.Terms.Carrying(s.term) || len(topics[0].replaced) > 0 || s.ready.length > 0 {
		t.Error("a slot that carries nothing is waited for")
	}
}

// A batch that waits for its place when the term ends begins nothing, and is given back.
func TestEndOfATermForABatchThatWaits(t *testing.T) {
	t.Parallel()
	s, topics := stage(1, 2)
	given := []time.Time{}
	s.start = func(_ *Slot, since time.Time) { given = append(given, since) }
	x := s.takeOne(t).Slot
	x.Repeat(Facts{Open: true, Failures: 2}, s.clock)
	s.takeOne(t).Slot.Work(took())
	s.wakeDue()
	s.takeOne(t)
	if _, now := x.Work(took()); now {
		t.Fatal("it has a place")
	}
	x.AwaitPermit()
	s.Terms.End()
	if len(given) != 1 || !given[0].IsZero() || x.state != Working || topics[0].waiting.length != 0 {
		t.Errorf("given places since %v; %d wait", given, topics[0].waiting.length)
	}
	s.check(t)
}

// A place that comes free at the end of a term goes to no batch of that term: it begins nothing.
func TestNoBatchGetsAPlaceAtTheEndOfATerm(t *testing.T) {
	t.Parallel()
	s, topics := stage(1, 2)
	given := []time.Time{}
	s.start = func(_ *Slot, since time.Time) { given = append(given, since) }
	first, second := topics[0].slots[0], topics[0].slots[1]
	s.takeOne(t).Slot.Repeat(Facts{Open: true, Failures: 2}, s.clock.Add(time.Second))
	s.takeOne(t).Slot.Repeat(Facts{Open: true, Failures: 2}, s.clock)
	s.wakeDue()
	s.takeOne(t).Slot.Rest(Facts{Fence: 1}, time.Time{})
	s.clock = s.clock.Add(time.Second)
	s.wakeDue()
	h := s.takeOne(t)
	topics[0].Wake(1, 0) // has the place, and is ready
	h.Slot.Work(took())
	h.Slot.AwaitPermit()
	if first.state != Waiting || second.state != Ready || !second.permit.held {
		t.Fatalf("the slots are %d and %d", first.state, second.state)
	}
	topics[0].slots[0], topics[0].slots[1] = second, first // the one with the place is ended first
	first.Index, second.Index = 1, 0
	s.Terms.End()
	if len(given) != 1 || !given[0].IsZero() {
		t.Errorf("a batch begins with the place of a term that is over: %v", given)
	}
}

// A slot whose handler hangs is given to another one, under another id, which turns at
// once. The old one is forgotten when it returns. A slot that is not the worker's any
// more is not turned at again.
func TestHungSlotIsReplaced(t *testing.T) {
	t.Parallel()
	for _, mine := range []bool{true, false} {
		s, topics := stage(4, 1)
		one := topics[0]
		for i, id := range []string{"me+1", "me+2"} {
			hung := s.takeAll()[0]
			if !mine {
				s.Unassign(one)
			}
			hung.ReplaceHung()
			x := one.slots[0]
			if x == hung || x.id != id || !hung.Leaving() || x.assigned != mine || (s.ready.length == 1) != mine {
				t.Fatalf("%s has the slot, assigned %v, with %d turns", x.id, x.assigned, s.ready.length)
			}
			if len(one.replaced) != i+1 {
				t.Errorf("%d are set aside", len(one.replaced))
			}
			s.check(t)
			if !mine {
				break
			}
		}
		for _, hung := range slices.Clone(one.replaced) {
			hung.Again(took(), time.Time{}) // it has returned after all
			for {
				if h := s.takeOne(t); h.Slot == hung {
					if !h.Leave {
						t.Error("it may take")
					}
					break
				}
			}
			hung.Left(Facts{})
		}
		if len(one.replaced) != 0 {
			t.Errorf("%d are kept for nothing", len(one.replaced))
		}
	}
}

// A handler that was given up and has returned after all does not make its slot one
// that nobody waits for: the next batch there has a handler that is in order.
func TestGivenUpForOneBatch(t *testing.T) {
	t.Parallel()
	s, topics := stage(4, 1)
	x := topics[0].slots[0]
	turnsAndWorks := func() {
		t.Helper()
		if h := s.takeOne(t); h.Leave {
			t.Fatal("it leaves")
		}
		x.Work(took())
	}
	turnsAndWorks()
	x.MarkHung()
	x.Again(took(), time.Time{}) // it has returned
	if !s.takeOne(t).Leave {
		t.Error("a slot without a place may take")
	}
	x.Left(Facts{})
	turnsAndWorks()
	s.Terms.End()
	if !s.Terms.Carrying(s.term) {
		t.Error("nobody waits for a handler that may run")
	}
}

// One that hangs when the term ends is not waited for.
func TestHungSlotIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s, _ := stage(4, 2)
	taken := s.takeAll()
	taken[0].MarkHung()
	s.Terms.End()
	if !s.Terms.Carrying(s.term) || s.Terms.Carrying(&term{id: "me"}) {
		t.Error("the other one is not waited for, or by another term")
	}
	taken[1].Again(took(), time.Time{})
	s.takeOne(t).Slot.Left(Facts{})
	if s.Terms.Carrying(s.term) {
		t.Error("a handler that ignores its context is waited for")
	}
}

// A worker that is asked about what it carries lets it be; about what it does not carry,
// it takes a turn that leaves, under the id it is asked by, once at a time.
func TestAsked(t *testing.T) {
	t.Parallel()
	s, topics := stage(16, 3)
	one := topics[0]
	turns := func() (ids []string) {
		for s.ready.length > 0 {
			for _, h := range s.Next(8, nil) {
				if !h.Leave {
					t.Errorf("the turn of %s at slot %d may take", h.Slot.ID(), h.Slot.Index)
				}
				if !h.Slot.Leaving() {
					t.Errorf("when %s has left slot %d, nobody is woken", h.Slot.ID(), h.Slot.Index)
				}
				ids = append(ids, fmt.Sprint(h.Slot.Index, " ", h.Slot.ID()))
			}
		}
		return ids
	}
	s.takeAll() // all slots have a batch
	one.Asked(0, "me")
	one.Asked(7, "me")
	one.Asked(-1, "me")
	one.Asked(0, "stranger")
	if got := turns(); got != nil {
		t.Errorf("turns %v", got)
	}
	hung := one.slots[0]
	s.Unassign(one)
	hung.ReplaceHung() // me+1 has the slot then, and me still carries it
	one.Asked(0, "me")
	if got := turns(); got != nil {
		t.Errorf("turns %v at what hangs", got)
	}
	hung.topic.forget(hung) // it has returned
	for range 2 {
		one.Asked(0, "me")
		one.Asked(0, "me+1")
	}
	if got := turns(); !slices.Equal(got, []string{"0 me", "0 me+1"}) {
		t.Errorf("turns %v", got)
	}
	one.slots[2].Left(Facts{Fence: 1})
	s.Terms.End()
	one.Asked(1, "me") // carries its batch
	one.Asked(2, "me") // carries nothing, and is about to get another id
	if got := turns(); got != nil {
		t.Errorf("turns %v between two terms", got)
	}
}

// An id of the term before is this worker's while that term's session lasts: as long as one
// of its handlers runs.
func TestAskedByTheIDBefore(t *testing.T) {
	t.Parallel()
	s := playOf(16, 3, 16)
	s.term = &term{id: "me", session: true}
	s.Terms.Begin(s.term)
	s.assignAll()
	one := s.topics[0]
	s.takeAll() // all slots have a batch
	hung := one.slots[0]
	s.Terms.End()
	s.Terms.Begin(&term{id: "next", session: true})
	hung.topic.forget(hung) // it has returned; the two others have not
	one.Asked(1, "me")
	if s.ready.length > 0 {
		t.Error("a turn at what hangs")
	}
	one.Asked(0, "me")
	if s.ready.length != 1 {
		t.Fatalf("%d turns, want one", s.ready.length)
	}
	if h := s.takeOne(t); h.Slot.Index != 0 || h.Slot.ID() != "me" || h.Slot.Term() != Term(s.term) || !h.Leave {
		t.Errorf("the turn of %s at slot %d", h.Slot.ID(), h.Slot.Index)
	}
	s.Close()
	one.Asked(0, "next")
	if s.ready.length > 0 {
		t.Error("a turn after the end")
	}
}

// A worker that closes answers as long as it waits for another slot; then its writers may be
// gone.
func TestAskedWhileItCloses(t *testing.T) {
	t.Parallel()
	s, topics := stage(16, 2)
	taken := s.takeAll()
	taken[0].Rest(Facts{}, time.Time{})
	s.Stop()
	topics[0].Asked(0, "me")
	if h := s.takeOne(t); h.Slot != taken[0] || !h.Leave {
		t.Errorf("slot %d, leave %v", h.Slot.Index, h.Leave)
	}
	for _, x := range taken {
		x.Left(Facts{})
	}
	topics[0].Asked(0, "me")
	if s.ready.length > 0 {
		t.Error("a turn after all is left")
	}
}
