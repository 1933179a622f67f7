package consumer

import (
	"sync"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
)

// batchTarget is how long a batch should take: short enough that an urgent
// message, a retry or a move of the slot need not wait long, long enough that
// turns cost little beside the work.
const batchTarget = 10 * time.Millisecond

const firstBatch = 16

// batchSize follows how long the topic's messages take and how large they are.
type batchSize struct {
	mu      sync.Mutex
	known   bool
	average time.Duration // for one message
	bytes   int           // of one message
}

// learn follows a batch of which some messages were handled, of bytes together, and
// how long their handlers took, one after the other.
func (b *batchSize) learn(took time.Duration, messages, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	each, size := took/time.Duration(messages), bytes/messages
	if !b.known {
		b.known, b.average, b.bytes = true, each, size
		return
	}
	b.average += (each - b.average) / 4
	b.bytes += (size - b.bytes) / 4
}

// count is how many messages the next batch is to take; together is how many of them
// are handled at the same time.
func (b *batchSize) count(together int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	each := protocol.MaxBatch // for one handler
	switch {
	case !b.known:
		return max(firstBatch, together)
	case b.average > 0:
		each = int(min(time.Duration(each), max(1, batchTarget/b.average)))
	}
	return min(each*together, b.fitting())
}

// most is how many messages the next batch takes at the most, however many are
// handled at the same time.
func (b *batchSize) most() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fitting()
}

// fitting is how many messages do not have too many bytes together.
func (b *batchSize) fitting() int {
	if b.bytes == 0 {
		return protocol.MaxBatch
	}
	return min(max(1, limits.BatchBytes/b.bytes), protocol.MaxBatch)
}
