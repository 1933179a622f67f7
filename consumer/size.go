package consumer

import (
	"sync"
	"time"

	"github.com/slotmq/go-rmq/luascripts"
)

// batchTarget is how long a batch should take: short enough that an urgent
// message, a retry or a move of the slot need not wait long, long enough that
// turns cost little beside the work.
const batchTarget = 10 * time.Millisecond

const (
	firstBatch = 16
	batchBytes = 1 << 20
)

// batchSize follows how long the topic's messages take and how large they are.
type batchSize struct {
	mu      sync.Mutex
	known   bool
	average time.Duration // for one message
	bytes   int           // of one message
}

// learn follows a batch of which some messages were handled, of bytes together.
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

// count is how many messages the next batch shall take.
func (b *batchSize) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.known {
		return firstBatch
	}
	n := luascripts.MaxBatch
	if b.average > 0 {
		n = int(min(time.Duration(n), batchTarget/b.average))
	}
	if b.bytes > 0 {
		n = min(n, batchBytes/b.bytes)
	}
	return max(1, n)
}
