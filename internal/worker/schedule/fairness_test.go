package schedule

import (
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

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
			p.waits = func(x *Slot) bool { return slices.Index(p.topics, x.topic) < c.busy }
			p.takes = func(*Slot) time.Duration { return time.Hour }
			p.enter()
			if c.busy > 0 {
				if want := min(c.places-c.topics+c.busy, c.busy*most); c.topics > c.places/2 && len(p.running) != want {
					t.Errorf("%+v, %d each: %d handlers, want %d", c, most, len(p.running), want)
				}
			}
			kept := min(max(1, c.places/c.topics/2), most)
			p.waits = func(*Slot) bool { return true }
			for _, quick := range p.topics[c.busy:] {
				begun := 0
				p.began = func(x *Slot) {
					if x.topic == quick {
						begun++
					}
				}
				for i := range kept {
					quick.Wake(i, 0)
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
	random := sharetest.Rand(t)
	for range 60 {
		places := 1 + random.IntN(20)
		n := places + 1 + random.IntN(100)
		longest := time.Duration(1+random.IntN(500)) * time.Millisecond
		uneven := random.IntN(2) == 0
		p := playOf(places, 1<<random.IntN(5), all(n, 1+random.IntN(places))...)
		p.takes = func(x *Slot) time.Duration {
			if uneven && random.IntN(10) > 0 {
				return time.Millisecond
			}
			return longest
		}
		last := map[*Topic]time.Time{}
		for _, x := range p.topics {
			last[x] = p.clock
		}
		// Whatever is under way at first ends within one.
		bound := time.Duration((n+places-1)/places) * (promisedSlice + longest)
		worst := time.Duration(0)
		p.began = func(x *Slot) {
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

// Places are shared out evenly in the end, in whatever order the slots came.
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
	// Then no slot yields any more, but for the slice.
	turns, begun := p.turns, 0
	p.began = func(*Slot) { begun++ }
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
	p.began = func(x *Slot) { order = append(order, x.topic.Name) }
	p.takes = func(*Slot) time.Duration { return 2 * Slice }
	p.enter()
	for range 10 {
		p.step()
	}
	// Round after round in the same order.
	if rounds := order[:5]; !slices.Equal(order[5:10], rounds) || !slices.Equal(slices.Sorted(slices.Values(rounds)), []string{"0", "1", "2", "3", "4"}) {
		t.Errorf("served in the order %s", order)
	}
}

// A topic that is at its own limit could not use a place, so no slot yields to it.
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
				x.Again(took(), time.Time{})
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
	p.waits = func(x *Slot) bool { return x.topic == limited || x.Index < 14 }
	for other.waiting.length > 0 {
		p.step()
	}
	turns := p.turns
	for range 50 {
		for x := range p.running {
			if x.topic == other {
				delete(p.running, x)
				p.clock = p.clock.Add(time.Second)
				x.Again(took(), time.Time{})
				break
			}
		}
		p.turn()
	}
	if turns = p.turns - turns; turns != 50 {
		t.Errorf("%d turns for 50 batches, though nobody could use the places", turns)
	}
}
