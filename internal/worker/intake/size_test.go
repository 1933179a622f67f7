package intake

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
)

func TestBatchSize(t *testing.T) {
	t.Parallel()
	var b Size
	if b.Count(1) != firstBatch {
		t.Errorf("the first batch has %d", b.Count(1))
	}
	for _, c := range []struct {
		each  time.Duration
		bytes int
		want  int
	}{
		{0, 100, protocol.MaxBatch},
		{10 * time.Microsecond, 100, protocol.MaxBatch},
		{time.Millisecond, 100, 10},
		{4 * time.Millisecond, 100, 2},
		{10 * time.Millisecond, 100, 1},
		{time.Hour, 100, 1},
		{0, 256 << 10, 4},
		{0, 64 << 20, 1},
		{time.Millisecond, 512 << 10, 2},
	} {
		b := Size{}
		for range 5 {
			b.Learn(16*c.each, 16, 16*c.bytes)
		}
		if got := b.Count(1); got != c.want {
			t.Errorf("%v and %d bytes each: %d, want %d", c.each, c.bytes, got, c.want)
		}
	}
	// It follows a change, within some batches and not at once.
	for range 5 {
		b.Learn(16*time.Millisecond, 16, 1600)
	}
	b.Learn(time.Second, 1, 100)
	if b.Count(1) != 1 {
		t.Errorf("after one slow message: %d", b.Count(1))
	}
	for range 60 {
		b.Learn(time.Millisecond, b.Count(1), 100)
	}
	if b.Count(1) < 50 {
		t.Errorf("after many fast batches: %d", b.Count(1))
	}
}
