package schedule

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A slot that is assigned anew is queued once, whatever has it in hand.
func TestAssignedAgainInAnyState(t *testing.T) {
	t.Parallel()
	s, topics := stage(2, 1)
	x, f := topics[0].slots[0], Facts{Fence: 7}
	again := func() {
		s.Unassign(topics[0])
		topics[0].Assign(s.term, []int{0})
	}
	again() // in the queue
	if s.ready.length != 1 || s.permits.used != 1 {
		t.Errorf("queued %d times, %d places", s.ready.length, s.permits.used)
	}
	h := s.takeOne(t)
	x.unseen = false
	again() // in the hands of a writer
	if s.ready.length != 0 || h.Leave {
		t.Error("queued while it turns")
	}
	if x.unseen { // the writer goes on with it
		t.Error("it is to be looked at")
	}
	x.Work(Facts{Fence: 7, Held: true})
	again() // in the hands of a handler
	if s.ready.length != 0 {
		t.Error("queued while it is handled")
	}
	x.Repeat(Facts{Fence: 7, Open: true, Failures: 1}, s.clock.Add(time.Hour))
	again()
	if s.ready.length != 0 || s.permits.used != 1 {
		t.Error("queued while its turn has no answer")
	}
	x.Rest(f, time.Time{})
	again() // asleep: it is to be left first, or to be turned at
	if s.ready.length != 1 {
		t.Errorf("asleep: queued %d times", s.ready.length)
	}
	// It was queued to be left, without a place, and is assigned anew: it must
	// not take anything without one.
	if h := s.takeOne(t); !h.Leave || x.permit.held {
		t.Errorf("leaves %v, place %v", h.Leave, x.permit.held)
	}
	x.Left(f)
	if h := s.takeOne(t); h.Leave || !x.permit.held || s.active != 1 {
		t.Errorf("leaves %v, place %v, %d active", h.Leave, x.permit.held, s.active)
	}
}

// A slot that is taken away is left by a turn if one of ours was ever answered there, and
// by none if not. What is at work finishes, and then is left.
func TestWhatIsTakenAwayIsLeft(t *testing.T) {
	t.Parallel()
	s, topics := stage(3, 6)
	one := topics[0]
	taken := s.takeAll()
	taken[0].Rest(Facts{Fence: 3}, s.clock.Add(time.Hour))
	s.takeAll()                                    // slot 3, in its place; 4 and 5 wait
	taken[1].Rest(Facts{}, s.clock.Add(time.Hour)) // never turned at, as far as anybody knows
	s.takeAll()                                    // slot 4
	if n := s.Unassign(one); n != 6 || len(s.sleepers.all) > 0 || one.waiting.length > 0 {
		t.Errorf("%d are taken away; %d sleep, %d wait", n, len(s.sleepers.all), one.waiting.length)
	}
	if h := s.takeOne(t); h.Slot != taken[0] || !h.Leave || s.ready.length != 0 {
		t.Errorf("slot %d turns, leave %v, and %d more", h.Slot.Index, h.Leave, s.ready.length)
	}
	taken[0].Left(Facts{})
	works := taken[2]
	if !works.Leaving() || s.ready.length != 0 {
		t.Error("what is at work does not hear of it, or is disturbed")
	}
	works.Again(took(), time.Time{})
	if h := s.takeOne(t); !h.Leave {
		t.Error("what was at work takes more")
	}
	works.Left(Facts{})
	if held := one.Holding(); !slices.Equal(held, []int{3, 4}) {
		t.Errorf("the worker has slots %v", held)
	}
}

// A turn that was under way when its slot was taken away, and has taken nothing, is the
// last if there is nothing to leave; and if there is, the slot is left by another.
func TestTakenAwayWhileItTurns(t *testing.T) {
	t.Parallel()
	for fence, turns := range map[int64]int{0: 0, 5: 1} {
		s, topics := stage(3, 1)
		x := s.takeOne(t).Slot
		s.Unassign(topics[0])
		x.Rest(Facts{Fence: fence}, s.clock.Add(time.Minute))
		if s.ready.length != turns || len(s.sleepers.all) != 0 || s.permits.used != 0 {
			t.Errorf("with fence %d %d turns follow", fence, s.ready.length)
		}
	}
}

// Slots are assigned in the present term only, and none after the end has begun.
func TestAssignedTooLate(t *testing.T) {
	t.Parallel()
	s, topics := stage(4, 2)
	s.takeAll()
	if gained, lost := topics[0].Assign(&term{id: "me"}, nil); gained+lost != 0 {
		t.Error("another term takes slots away")
	}
	s.Stop()
	if gained, lost := topics[0].Assign(s.term, upTo(2)); gained != 0 || lost != 0 || len(s.Assigned(topics...)) > 0 {
		t.Errorf("%d are assigned, %d taken away after the end has begun", gained, lost)
	}
}

// What Holding says of a topic changes only when Moved names it.
func TestMoved(t *testing.T) {
	t.Parallel()
	s, topics := stage(8, 2, 2)
	moved := func(want ...*Topic) {
		t.Helper()
		if got := s.Moves.Topics(); !slices.Equal(got, want) {
			t.Errorf("%d topics have moved, want %d", len(got), len(want))
		}
	}
	moved(topics...)
	moved()
	for _, x := range s.takeAll() { // what one's own slots do is nothing new
		x.Again(took(), time.Time{})
	}
	for _, h := range s.Next(8, nil) {
		h.Slot.Rest(Facts{Fence: 1}, s.clock)
	}
	s.wakeDue()
	moved()
	topics[1].Assign(s.term, []int{0})
	moved(topics[1])
	if held := topics[1].Holding(); len(held) != 2 {
		t.Errorf("it has slots %v", held)
	}
	for _, h := range s.Next(8, nil) {
		if held := topics[1].Holding(); h.Leave && len(held) != 2 {
			t.Errorf("it has slots %v while one is being left", held)
		}
		if h.Leave {
			h.Slot.Left(Facts{})
		} else {
			h.Slot.Work(took())
		}
	}
	moved(topics[1])
	if held := topics[1].Holding(); len(held) != 1 {
		t.Errorf("it has slots %v", held)
	}
	topics[0].slots[0].ReplaceHung()
	moved(topics[0])
	s.Terms.End()
	moved(topics...)
	s.Terms.Begin(&term{id: "next"}) // whose session has heard of nothing yet
	moved(topics...)
}

// When the Redis client is closed too early, slots are given up that could not be left:
// only at the end, for before that a slot's turn is repeated until it is answered.
func TestDrop(t *testing.T) {
	t.Parallel()
	s, topics := stage(4, 2)
	taken := s.takeAll()
	taken[1].ReplaceHung()
	if taken[0].Drop() {
		t.Error("a slot is given up while the worker works")
	}
	s.Stop()
	taken = append(taken, s.takeOne(t).Slot) // the one in its place
	for _, x := range taken {
		if !x.Drop() {
			t.Error("a slot is not given up")
		}
	}
	if !slices.Equal(s.Dropped(), taken) || s.active > 0 || s.permits.used > 0 || len(topics[0].replaced) > 0 {
		t.Errorf("%d are dropped, %d are active", len(s.Dropped()), s.active)
	}
	s.WaitIdle() // does not wait
}

// Close waits until each slot is asleep, also when one goes to sleep and wakes at once.
func TestWaitIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, topics := stage(4, 1)
		x := s.takeOne(t).Slot
		idle := false
		go func() {
			s.WaitIdle()
			idle = true
		}()
		synctest.Wait()
		s.Unassign(topics[0])
		x.Rest(Facts{Fence: 1}, time.Time{}) // it is to be left, so it is ready again
		synctest.Wait()
		if idle {
			t.Error("it does not wait for the turn that leaves")
		}
		s.takeOne(t).Slot.Left(Facts{})
		synctest.Wait()
		if !idle {
			t.Error("it waits for nothing")
		}
	})
}

// What the slots do, as Close tells it when it cannot wait any longer.
func TestStatus(t *testing.T) {
	t.Parallel()
	s, topics := stage(8, 4)
	taken := s.takeAll()
	taken[0].Rest(Facts{}, time.Time{})
	taken[1].Repeat(Facts{Open: true, Held: true}, s.clock.Add(time.Hour))
	taken[2].ReplaceHung() // and the one in its place is ready
	taken[3].topic.Together = func() int { return 2 }
	taken[3].Borrow(2)
	want := []Status{
		{Slot: taken[2], State: Working, SetAside: true, Hung: true},
		{Slot: taken[0], State: Asleep, Assigned: true, Unseen: true},
		{Slot: taken[1], State: Delayed, Assigned: true, Unseen: true, Permits: 1, Until: s.clock.Add(time.Hour)},
		{Slot: topics[0].slots[2], State: Ready, Assigned: true, Permits: 1},
		{Slot: taken[3], State: Working, Assigned: true, Unseen: true, Permits: 3},
	}
	want[0].Unseen = true
	if got := topics[0].Status(); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The slots of one server are handed out together, those of others by themselves, and the
// servers in turn. A slot that takes another's place is on the same server.
func TestServersAreServedInTurn(t *testing.T) {
	t.Parallel()
	s := playOf(64, 6, 64)
	one := s.topics[0]
	servers := []string{"a", "b", "a", "a", "b", "c"}
	for i, server := range servers {
		one.Locate(i, server)
	}
	s.assignAll()
	seen := map[string]int{}
	for s.ready.length > 0 {
		hands := s.Next(2, nil)
		server := servers[hands[0].Slot.Index]
		for _, h := range hands {
			if h.Facts.Server != server {
				t.Errorf("slots of %s and %s are handed out together", server, h.Facts.Server)
			}
			h.Slot.Work(Facts{Held: true, Server: server})
		}
		if seen[server]++; seen["a"] == 2 && len(seen) < 3 {
			t.Errorf("a is served twice before others: %v", seen)
		}
	}
	one.slots[4].ReplaceHung()
	if h := s.takeOne(t); h.Facts.Server != "b" {
		t.Errorf("the slot in the place of another is looked for at %q", h.Facts.Server)
	}
}
