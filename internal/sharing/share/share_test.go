package share

import (
	"fmt"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

func names(n int) (m []string) {
	for i := range n {
		m = append(m, fmt.Sprintf("worker-%d", i))
	}
	return m
}

// The same is checked of the other way, by ZooKeeper, in internal/sharing/keeper.
func TestShareKeepsWhatIsPromised(t *testing.T) {
	t.Parallel()
	seed := sharetest.Seed(t)
	if err := sharetest.Check(Of, seed); err != nil {
		t.Error(err)
	}
}

// When one of eight leaves, its 32 slots must move; few others may.
func TestShareMovesLittle(t *testing.T) {
	t.Parallel()
	owner := func(m []string) map[int]string {
		of := map[int]string{}
		for who, share := range Of(m, 256) {
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
