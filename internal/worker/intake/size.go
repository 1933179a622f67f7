package intake

import (
	"sync"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
)

// Target is how long a batch should take: short enough that an urgent
// message, a retry or a move of the slot need not wait long, long enough that
// turns cost little beside the work.
const Target = 10 * time.Millisecond

// firstBatch is how many messages a batch has of which nothing is known.
const firstBatch = 16

// Size follows how long the topic's messages take and how large they are.
type Size struct {
	mu      sync.Mutex
	known   bool
	average time.Duration // for one message
	bytes   int           // of one message
}

// Learn follows a batch of which some messages were handled, of bytes together, and
// how long their handlers took, one after the other.
func (s *Size) Learn(took time.Duration, messages, bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	each, size := took/time.Duration(messages), bytes/messages
	if !s.known {
		s.known, s.average, s.bytes = true, each, size
		return
	}
	s.average += (each - s.average) / 4
	s.bytes += (size - s.bytes) / 4
}

// Count is how many messages the next batch is to take; together is how many of them
// are handled at the same time.
func (s *Size) Count(together int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	each := protocol.MaxBatch // for one handler
	switch {
	case !s.known:
		return max(firstBatch, together)
	case s.average > 0:
		each = int(min(time.Duration(each), max(1, Target/s.average)))
	}
	return min(each*together, s.fitting())
}

// Most is how many messages the next batch takes at the most, however many are
// handled at the same time.
func (s *Size) Most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fitting()
}

// fitting is how many messages do not have too many bytes together.
func (s *Size) fitting() int {
	if s.bytes == 0 {
		return protocol.MaxBatch
	}
	return min(max(1, limits.BatchBytes/s.bytes), protocol.MaxBatch)
}
