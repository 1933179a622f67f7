package schedule

import (
	"testing"
	"time"
)

const gather = 50 * time.Millisecond

// gathering is a stage with one topic that gathers, whose slots are asleep.
func gathering(limit, slots int) (*play, *Topic) {
	p := playOf(limit, slots, limit)
	p.topics[0].Gather = gather
	p.topics[0].Assign(p.term, upTo(slots))
	return p, p.topics[0]
}

// pass moves the clock, and wakes what is due.
func (p *play) pass(d time.Duration) {
	p.clock = p.clock.Add(d)
	p.wakeDue()
}

// few is what is known of a slot that was given all there was.
func few() Facts { return Facts{Held: true, Fence: 1, Few: true} }

func TestWokenSlotGathers(t *testing.T) {
	t.Parallel()
	p, topic := gathering(1, 2)
	topic.Wake(0, 0)
	for range 4 { // more wake-ups make it neither longer nor shorter
		p.pass(gather / 5)
		topic.Wake(0, 0)
		topic.Wake(0, time.Millisecond)
		topic.Wake(0, time.Hour)
	}
	if p.ready.length > 0 || p.permits.used > 0 || p.active > 0 {
		t.Errorf("while it gathers: %d ready, %d places, %d active", p.ready.length, p.permits.used, p.active)
	}
	p.pass(gather / 5)
	if x := p.takeOne(t).Slot; x.Index != 0 || p.permits.used != 1 {
		t.Errorf("slot %d, %d places", x.Index, p.permits.used)
	}
}

func TestSlotWhoseTimeHasComeGathers(t *testing.T) {
	t.Parallel()
	p, topic := gathering(1, 1)
	topic.Wake(0, time.Second)
	p.pass(time.Second)
	p.pass(gather - 1)
	if p.ready.length > 0 {
		t.Error("it has not gathered")
	}
	p.pass(1)
	p.takeOne(t)
}

func TestSlotGathersAfterABatchThatWasAll(t *testing.T) {
	t.Parallel()
	for _, all := range []bool{true, false} {
		p, topic := gathering(1, 2)
		topic.Wake(0, 0)
		p.pass(gather)
		x := p.takeOne(t).Slot
		f := took()
		if all {
			f = few()
		}
		x.Work(f)
		x.Again(f, time.Time{})
		h := p.takeOne(t)
		if h.Leave != all {
			t.Errorf("all %v: leaves %v", all, h.Leave)
		}
		if !all {
			continue
		}
		x.Left(Facts{Fence: 2, Few: true})
		if p.permits.used > 0 || p.ready.length > 0 {
			t.Error("it does not gather, or keeps its place")
		}
		topic.Wake(1, 0) // another has the place meanwhile
		p.pass(gather)
		for range 2 {
			if h := p.takeOne(t); h.Leave {
				t.Error("it leaves again")
			} else {
				h.Slot.Rest(Facts{Fence: 3}, time.Time{})
			}
		}
	}
}

func TestSlotWokenInItsTurnGathers(t *testing.T) {
	t.Parallel()
	p, topic := gathering(1, 1)
	topic.Wake(0, 0)
	p.pass(gather)
	x := p.takeOne(t).Slot
	topic.Wake(0, 0)
	x.Rest(Facts{Fence: 1}, time.Time{})
	if p.ready.length > 0 || !x.gathers {
		t.Error("it does not gather")
	}
}

// A turn that only put messages into their place is followed by the next at once, behind the
// slots that wait for a place.
func TestSlotWithMoreToDoDoesNotGatherAgain(t *testing.T) {
	t.Parallel()
	p, topic := gathering(1, 2)
	topic.Wake(0, 0)
	topic.Wake(1, 0)
	p.pass(gather)
	first, more := p.takeOne(t).Slot, Facts{Fence: 1, More: true}
	topic.Wake(first.Index, 0) // meanwhile
	first.Rest(more, p.clock)
	second := p.takeOne(t).Slot
	if second == first {
		t.Fatal("it keeps its place while another waits for one")
	}
	second.Rest(more, p.clock)
	for range 2 {
		h := p.takeOne(t)
		if h.Leave {
			t.Error("it leaves")
		}
		h.Slot.Rest(Facts{Fence: 2}, time.Time{})
	}
	if p.permits.used > 0 || p.active > 0 {
		t.Errorf("%d places, %d active", p.permits.used, p.active)
	}
}

// What another worker holds, or a person has paused, is only looked at.
func TestUnavailableSlotDoesNotGather(t *testing.T) {
	t.Parallel()
	p, topic := gathering(1, 1)
	topic.Wake(0, 0)
	p.pass(gather)
	busy := Facts{Holder: "other", Unavailable: true}
	p.takeOne(t).Slot.Rest(busy, p.clock.Add(time.Second))
	p.pass(time.Second)
	p.takeOne(t).Slot.Rest(busy, time.Time{})
	p.WakeHeldBy("other")
	p.takeOne(t)
}

func TestSlotTakenAwayWhileItGathers(t *testing.T) {
	t.Parallel()
	for _, how := range []func(*play, *Topic){
		func(p *play, topic *Topic) { p.Unassign(topic) },
		func(p *play, _ *Topic) { p.Terms.End(); p.Terms.Begin(p.term) },
	} {
		p, topic := gathering(1, 1)
		topic.Wake(0, 0)
		how(p, topic)
		p.pass(time.Hour)
		if p.ready.length > 0 {
			t.Error("it turns")
		}
		topic.Assign(p.term, upTo(1))
		topic.Wake(0, 0)
		p.pass(gather)
		p.takeOne(t)
	}
	// One that is known to Redis is left at once.
	p, topic := gathering(1, 1)
	topic.Wake(0, 0)
	p.pass(gather)
	p.takeOne(t).Slot.Rest(Facts{Fence: 1}, time.Time{})
	topic.Wake(0, 0)
	p.Stop()
	if !p.takeOne(t).Leave {
		t.Error("it is not left")
	}
}

func TestSettleEndsGathering(t *testing.T) {
	t.Parallel()
	p, topic := gathering(2, 2)
	topic.Wake(0, 0)
	topic.Wake(1, 0)
	waiting, ended := map[*Slot]int{topic.slots[0]: 3, topic.slots[1]: 5}, make(chan struct{})
	go func() {
		defer close(ended)
		for hands := p.Next(1, nil); len(hands) > 0; hands = p.Next(1, nil) {
			x := hands[0].Slot
			switch {
			case hands[0].Leave:
				x.Left(Facts{Fence: 2, Few: true})
			case waiting[x] > 0:
				waiting[x]--
				x.Work(few())
				x.Again(few(), time.Time{})
			default:
				x.Rest(Facts{Fence: 3}, time.Time{})
			}
		}
	}()
	p.Settle()
	p.Close()
	<-ended
	for x, left := range waiting {
		if left > 0 || x.gathers {
			t.Errorf("slot %d: %d batches are left, gathers %v", x.Index, left, x.gathers)
		}
	}
}

// Topics that gather and have nothing to do cost nothing, however many they are.
func TestIdleTopicsThatGather(t *testing.T) {
	t.Parallel()
	p := playOf(64, 2, all(10_000, 64)...)
	for _, topic := range p.topics {
		topic.Gather = gather
		topic.Assign(p.term, upTo(2))
	}
	p.topics[7].Wake(1, 0)
	if n := len(p.sleepers.all); n != 1 {
		t.Errorf("%d slots sleep until a time, and one gathers", n)
	}
	if in := p.wakeDue(); in != gather {
		t.Errorf("the alarm rings in %v", in)
	}
}
