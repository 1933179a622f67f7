package producer

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/observers"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/away"
)

// shared is what all parts of a producer have in common.
type shared struct {
	cfg       Config
	rdb       redis.UniversalClient
	scripts   *protocol.Scripts
	away      *away.Watch
	observers *observers.Observers // nil: none
	run       context.Context      // of the flushers' commands; ends when Close waits no longer

	// Other values only in tests.
	frozen      func() time.Time // the server's clock; nil: it is asked
	retryFor    time.Duration    // of the flushers
	sendTimeout time.Duration    // of calls without a deadline; 0: none

	idle       sync.WaitGroup // the flushers that run
	background sync.WaitGroup // comparisons of definitions, looks at clocks

	mu     sync.Mutex // also of the flights that wait
	closed bool
	busy   int // writers that are flushing
}

// goBackground runs do in a goroutine, unless the producer is closed and has written
// everything.
func (s *shared) goBackground(do func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed && s.busy == 0 {
		return false
	}
	s.background.Go(do)
	return true
}
