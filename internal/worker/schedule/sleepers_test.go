package schedule

import (
	"slices"
	"testing"
	"time"
)

// Sleepers wake in the order of their times, earlier ones first, and forget
// older times.
func TestSleepers(t *testing.T) {
	t.Parallel()
	s, topics := stage(16, 8)
	for _, x := range s.takeAll() {
		x.Rest(Facts{Fence: 1}, s.clock.Add(time.Duration(10-x.Index)*time.Hour))
	}
	if s.sleepers.all[0].Index != 7 || s.permits.used != 0 || s.active != 0 {
		t.Errorf("slot %d is first; %d places used", s.sleepers.all[0].Index, s.permits.used)
	}
	topics[0].Wake(3, time.Minute)
	topics[0].Wake(7, 20*time.Hour) // later than it will anyway
	if s.sleepers.all[0].Index != 3 || topics[0].slots[7].at.After(s.clock.Add(4*time.Hour)) {
		t.Error("a wake-up was not heeded, or made it later")
	}
	topics[0].Wake(5, 0)
	topics[0].Wake(5, 0)
	topics[0].Wake(-1, 0)
	topics[0].Wake(8, 0)
	if s.ready.length != 1 || len(s.sleepers.all) != 7 {
		t.Errorf("%d queued, %d asleep", s.ready.length, len(s.sleepers.all))
	}
	// One that is turning when it is woken turns again.
	s.takeOne(t)
	topics[0].Wake(5, 0)
	topics[0].slots[5].Rest(Facts{Fence: 1}, time.Time{})
	if s.ready.length != 1 {
		t.Error("a wake-up during a turn was lost")
	}
	s.Stop()
	if len(s.sleepers.all) != 0 {
		t.Errorf("%d sleep after the end", len(s.sleepers.all))
	}
}

// Each sleeper wakes at its time and no earlier, the alarm is told how long it is until the
// next one, and one that sleeps until it is woken never wakes by itself.
func TestSleepersWakeAtTheirTime(t *testing.T) {
	t.Parallel()
	s, topics := stage(16, 5)
	for _, x := range s.takeAll() {
		at := time.Time{}
		if x.Index < 4 {
			at = s.clock.Add(time.Duration(x.Index%2+1) * time.Second)
		}
		x.Rest(Facts{Fence: 1}, at)
	}
	awake := func() (indexes []int) {
		for s.ready.length > 0 {
			h := s.takeOne(t)
			indexes = append(indexes, h.Slot.Index)
			h.Slot.Rest(h.Facts, time.Time{})
		}
		slices.Sort(indexes)
		return indexes
	}
	for _, c := range []struct {
		after, next time.Duration
		want        []int
	}{
		{0, time.Second, nil},
		{time.Second - 1, 1, nil},
		{1, time.Second, []int{0, 2}},
		{time.Second - 1, 1, nil},
		{time.Minute, time.Hour, []int{1, 3}},
		{1000 * time.Hour, time.Hour, nil},
	} {
		s.clock = s.clock.Add(c.after)
		if next, got := s.wakeDue(), awake(); next != c.next || !slices.Equal(got, c.want) {
			t.Errorf("%v later: slots %v wake, and the next in %v; want %v and %v", c.after, got, next, c.want, c.next)
		}
	}
	if topics[0].Wake(4, 0); !slices.Equal(awake(), []int{4}) {
		t.Error("a wake-up is not heeded")
	}
}

// The alarm is rung when the first sleeper wakes earlier than it did, and not for others.
func TestAlarmHearsOfEarlierTimes(t *testing.T) {
	t.Parallel()
	s, topics := stage(16, 2)
	heard := func() bool {
		select {
		case <-s.sleepers.alarm:
			return true
		default:
			return false
		}
	}
	for _, x := range s.takeAll() {
		x.Rest(Facts{Fence: 1}, s.clock.Add(time.Duration(1+x.Index)*time.Hour))
	}
	if !heard() || heard() {
		t.Error("the first time is not heard of, or twice")
	}
	if topics[0].Wake(1, 90*time.Minute); heard() {
		t.Error("one that is not the first rings")
	}
	if topics[0].Wake(1, time.Minute); !heard() {
		t.Error("one that is the first now is not heard of")
	}
}

// Alarm itself, by the clock of the machine.
func TestAlarm(t *testing.T) {
	t.Parallel()
	s := New(1, []*Topic{{Slots: 1, Most: 1, NewSlot: func(int) *Slot { return &Slot{} }}}, time.Now, nil)
	me := &term{id: "me"}
	s.Terms.Begin(me)
	s.topics[0].Assign(me, []int{0})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Alarm()
	}()
	s.topics[0].Wake(0, time.Hour)
	s.topics[0].Wake(0, time.Millisecond)
	if hands := s.Next(8, nil); len(hands) != 1 { // waits for it
		t.Errorf("%d slots are ready", len(hands))
	}
	s.Close()
	<-ended
	if hands := s.Next(8, nil); len(hands) != 0 {
		t.Errorf("%d slots are ready after the end", len(hands))
	}
	s.WaitIdle() // does not wait
	<-s.Done()
}

// A turn may be executed before a message comes, and be answered after the look
// that was to find the message. So a slot that is turning turns again.
func TestLookDuringATurn(t *testing.T) {
	t.Parallel()
	s, topics := stage(16, 2)
	hands := s.Next(8, nil)
	if idle := s.Sleeping(topics[0].slots); len(idle) != 0 {
		t.Errorf("%d sleep", len(idle))
	}
	for _, h := range hands {
		h.Slot.Rest(h.Facts, time.Time{})
	}
	if s.ready.length != 2 {
		t.Errorf("%d turn again", s.ready.length)
	}
}

// A look is told of what sleeps and is this worker's. What is paused, or busy with another
// worker, looks again by itself; but for a slot that is new here: nobody has looked at it.
func TestWhatALookIsToldOf(t *testing.T) {
	t.Parallel()
	s, topics := stage(16, 6)
	one := topics[0]
	until := s.clock.Add(time.Minute)
	for _, x := range s.takeAll() {
		switch x.Index {
		case 0, 1:
			x.Rest(Facts{Fence: 1, Unavailable: true}, until)
		case 2:
			x.Rest(Facts{Fence: 1}, until)
		case 3:
			x.Rest(Facts{}, time.Time{})
		} // and 4 and 5 are at work
	}
	s.Sleeping(one.slots) // all of them have been new
	one.Assign(s.term, []int{0, 1, 2, 4, 5})
	told := func() map[int]Sleeper {
		of := map[int]Sleeper{}
		for _, x := range s.Sleeping(one.slots) {
			of[x.Index] = x
		}
		return of
	}
	if got := told(); len(got) != 1 || got[2].Until != until || got[2].Unseen {
		t.Errorf("told of %v", got)
	}
	one.Assign(s.term, upTo(6))
	if got := told(); len(got) != 2 || !got[3].Unseen || !got[3].Until.IsZero() {
		t.Errorf("told of %v, with slot 3 gained", got)
	}
	if got := told(); len(got) != 2 || got[3].Unseen {
		t.Errorf("told of %v once slot 3 was looked at", got)
	}
	// A slot that is paused, goes to another worker, and comes back.
	one.Assign(s.term, []int{1, 2, 3, 4, 5})
	h := s.takeOne(t)
	if h.Slot.Index != 0 || !h.Leave {
		t.Fatalf("slot %d, leave %v", h.Slot.Index, h.Leave)
	}
	h.Slot.Left(Facts{Unavailable: true})
	one.Assign(s.term, upTo(6))
	if got := told(); !got[0].Unseen {
		t.Errorf("told of %v: not of the slot that is new", got)
	}
}

// The slots that sleep because of one holder are woken together, and no others.
func TestHeldBy(t *testing.T) {
	t.Parallel()
	s, topics := stage(16, 4, 4)
	for _, x := range s.takeAll() {
		switch {
		case x.Index == 0:
			x.Rest(Facts{Fence: 1, Unavailable: true, Holder: "ghost"}, s.clock.Add(time.Minute))
		case x.Index == 1:
			x.Rest(Facts{Fence: 1, Unavailable: true, Holder: "other"}, s.clock.Add(time.Minute))
		case x.Index == 2:
			x.Rest(Facts{Fence: 1}, time.Time{})
		}
	}
	held := s.HeldBy("ghost")
	if len(held) != 2 || held[0] != topics[0].slots[0] || held[1] != topics[1].slots[0] {
		t.Errorf("%d slots are held", len(held))
	}
	if n := s.WakeHeldBy("ghost"); n != 2 || s.ready.length != 2 || topics[0].slots[0].state != Ready {
		t.Errorf("%d are woken, %d are ready", n, s.ready.length)
	}
	s.Next(8, nil)
	if n := s.WakeHeldBy("ghost"); n != 0 {
		t.Errorf("%d are woken that are turning", n)
	}
	other := topics[0].slots[1]
	topics[0].Wake(1, 0)
	s.takeOne(t).Slot.Rest(Facts{Unavailable: true, Holder: "other"}, s.clock.Add(time.Minute)) // and there is nothing to leave
	s.Unassign(topics[0])
	if held := s.HeldBy("other"); len(held) != 1 || held[0] == other {
		t.Errorf("%d slots are held, of which one is not this worker's any more", len(held))
	}
	if n := s.WakeHeldBy("other"); n != 1 || other.state != Asleep {
		t.Errorf("%d are woken, of which one is not this worker's any more", n)
	}
}
