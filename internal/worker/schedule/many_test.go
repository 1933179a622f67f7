package schedule

import (
	"testing"
	"time"
)

// counted has the comparisons of the schedule's two heaps counted, of which a turn should need few.
func counted(p *play) (comparisons *int) {
	comparisons = new(int)
	slots, topics := p.sleepers.less, p.permits.waiting.less
	p.sleepers.less = func(a, b *Slot) bool { *comparisons++; return slots(a, b) }
	p.permits.waiting.less = func(a, b *Topic) bool { *comparisons++; return topics(a, b) }
	return comparisons
}

// A turn takes no more steps with 10,000 topics than heaps of that size ask for. Nothing
// goes through all topics: their list is taken away while turns are taken.
func TestTurnsOfManyTopicsAreQuick(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 10, 10_000} {
		const turns = 4000
		depth := 1 // of a heap of all slots
		for 1<<depth < 2*n {
			depth++
		}
		// Slots that sleep, are woken, turn, and sleep again.
		p := playOf(64, 2, all(n, 64)...)
		p.enter()
		rest := func() {
			for p.ready.length > 0 {
				for _, h := range p.Next(8, nil) {
					h.Slot.Rest(h.Facts, p.clock.Add(time.Hour))
				}
			}
		}
		for len(p.running) > 0 {
			p.waits = func(*Slot) bool { return false }
			p.step()
		}
		topics := p.topics
		comparisons := counted(p)
		p.topics = nil
		for i := range turns {
			(topics[i*7919%n]).Wake(i%2, 0)
			if i%8 == 7 {
				rest()
			}
		}
		rest()
		// A wake-up takes a slot out of the heap, and rest enters it.
		if most := 6 * depth * turns; *comparisons > most {
			t.Errorf("%d topics: %d comparisons for %d turns of slots that sleep, want %d", n, *comparisons, turns, most)
		}

		// Slots that are always busy, so that their topics wait for places.
		p = playOf(64, 2, all(n, 64)...)
		p.enter()
		p.topics = nil
		comparisons, from := counted(p), p.turns
		for p.turns < from+turns {
			p.step()
		}
		if most := 8 * depth * turns; *comparisons > most {
			t.Errorf("%d topics: %d comparisons for %d turns of busy slots, want %d", n, *comparisons, turns, most)
		}
	}
}

// With 10,000 topics that are all busy, and with one, each is served.
func TestEachOfManyTopicsIsServed(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 10_000} {
		p := playOf(64, 2, all(n, 64)...)
		p.takes = func(*Slot) time.Duration { return 10 * time.Millisecond }
		served := map[*Topic]bool{}
		p.began = func(x *Slot) { served[x.topic] = true }
		begin := p.clock
		p.enter()
		// See TestTopicsTakeTurns.
		bound := time.Duration((n+63)/64) * (promisedSlice + 10*time.Millisecond)
		for len(served) < n && p.clock.Sub(begin) <= bound {
			p.step()
		}
		if len(served) < n {
			t.Errorf("%d of %d topics are served within %v", len(served), n, bound)
		}
	}
}

// A slot is woken, turned and put to sleep without an allocation, and so is one that goes
// on from batch to batch.
func TestTurnsAllocateNothing(t *testing.T) {
	p, topics := stage(64, 2, 2, 2, 2)
	var hands []Hand
	next := func() []Hand {
		hands = p.Next(8, hands[:0])
		return hands
	}
	i := 0
	rests := testing.AllocsPerRun(1000, func() {
		(topics[i%4]).Wake(i/4%2, 0)
		i++
		for p.ready.length > 0 {
			for _, h := range next() {
				h.Slot.Rest(h.Facts, p.clock.Add(time.Hour))
			}
		}
	})
	topics[0].Wake(0, 0)
	x := p.takeOne(t).Slot
	works := testing.AllocsPerRun(1000, func() {
		x.Work(took())
		x.Again(took(), time.Time{})
		next()
	})
	if rests+works != 0 {
		t.Errorf("%v allocations for a turn of a slot that sleeps, and %v of one that works", rests, works)
	}
}
