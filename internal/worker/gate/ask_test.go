package gate

import (
	"math/bits"
	"testing"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/worker/breaker"
)

// A probe whose place is drawn looks at the first few, and at many, equally often.
func TestDrawnPlaces(t *testing.T) {
	const n = 8000
	octaves := map[int]int{}
	for range n {
		wants, place := Ask(breaker.ProbeDrawn)
		if wants != protocol.Behind || place < 1 || place > protocol.MaxBatch {
			t.Fatalf("place %d", place)
		}
		octaves[bits.Len(uint(place))]++
	}
	for i := 1; i <= 8; i++ { // 1, 2 and 3, 4 to 7, ... 128 to 255
		if octaves[i] < n/12 || octaves[i] > n/6 {
			t.Errorf("%d of %d places from %d on: %v", octaves[i], n, 1<<(i-1), octaves)
		}
	}
}
