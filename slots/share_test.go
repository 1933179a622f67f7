package slots

import (
	"fmt"
	"math/rand"
	"testing"
	"time"
)

func names(n int) (m []string) {
	for i := range n {
		m = append(m, fmt.Sprintf("worker-%d", i))
	}
	return m
}

func TestShareCoversEverySlotOnceAndEvenly(t *testing.T) {
	for _, c := range []struct{ members, slots int }{{1, 1}, {1, 16}, {3, 16}, {16, 16}, {20, 16}, {8, 256}, {50, 1024}, {7, 4096}} {
		shares := Share(names(c.members), c.slots)
		seen := make([]bool, c.slots)
		for m, share := range shares {
			if least := c.slots / c.members; len(share) < least || len(share) > least+1 {
				t.Errorf("%d members, %d slots: %s has %d", c.members, c.slots, m, len(share))
			}
			for _, slot := range share {
				if seen[slot] {
					t.Errorf("%d members, %d slots: slot %d is given twice", c.members, c.slots, slot)
				}
				seen[slot] = true
			}
		}
		for slot, given := range seen {
			if !given {
				t.Errorf("%d members, %d slots: slot %d is given to nobody", c.members, c.slots, slot)
			}
		}
	}
	if got := Share(nil, 16); len(got) != 0 {
		t.Errorf("nobody has %v", got)
	}
}

func TestShareDependsOnTheSetOnly(t *testing.T) {
	seed := time.Now().UnixNano()
	t.Log("seed", seed)
	m := names(9)
	want := fmt.Sprint(Share(m, 64))
	shuffled := append(m, m[3])
	rand.New(rand.NewSource(seed)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	if got := fmt.Sprint(Share(shuffled, 64)); got != want {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// When one of eight leaves, its 32 slots must move; few others may.
func TestShareMovesLittle(t *testing.T) {
	owner := func(m []string) map[int]string {
		of := map[int]string{}
		for who, share := range Share(m, 256) {
			for _, slot := range share {
				of[slot] = who
			}
		}
		return of
	}
	before, after := owner(names(8)), owner(names(7))
	moved := 0
	for slot := range before {
		if before[slot] != after[slot] {
			moved++
		}
	}
	if moved < 32 || moved > 96 {
		t.Errorf("%d of 256 slots moved", moved)
	}
}
