package producer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/frozen"
	"github.com/slotmq/go-rmq/internal/nodes"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// Producer sends messages. It may be used by any number of goroutines.
type Producer struct {
	cfg     Config
	rdb     redis.UniversalClient
	scripts *luascripts.Scripts
	topics  atomic.Pointer[map[message.Topic]*topic] // replaced, never changed

	// Other values only in tests.
	frozen   func() time.Time // the server's clock; nil: it is asked
	patience time.Duration    // of the flushers

	// Each line has a flusher, a goroutine that lives while there is something
	// to write.
	peers nodes.Peers     // where slots are moving
	run   context.Context // their commands'; ended when Close can wait no longer
	stop  context.CancelFunc
	idle  sync.WaitGroup // the flushers that live, and comparisons of definitions

	mu     sync.Mutex
	closed bool
	lines  map[string]*line // by address of the server
	busy   int              // lines that are flushing
}

// New returns a producer on rdb, which stays the caller's to close. It does no
// I/O; the first Send does.
func New(rdb redis.UniversalClient, cfg Config) (*Producer, error) {
	if rdb == nil {
		return nil, errors.New("new producer: the Redis client is nil")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("new producer: %w", err)
	}
	p := &Producer{
		cfg: cfg, rdb: rdb, scripts: luascripts.New(rdb), lines: map[string]*line{},
		frozen: frozen.Clock(rdb), patience: patience,
	}
	p.topics.Store(&map[message.Topic]*topic{})
	p.run, p.stop = context.WithCancel(context.Background())
	return p, nil
}

// Close refuses further sends, writes what waits, and returns when all of it
// is answered. When ctx ends first it gives up and returns an error; sends
// still waiting then get theirs. It may be called more than once. It does not
// close the Redis client.
func (p *Producer) Close(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("close producer: %w", errNilContext)
	}
	defer p.peers.Close()
	p.mu.Lock()
	p.closed = true
	busy := p.busy
	p.mu.Unlock()
	if busy == 0 { // nothing to write, so it does not matter whether ctx has ended
		p.stop()
		return nil
	}
	flushed := make(chan struct{})
	go func() {
		p.idle.Wait()
		close(flushed)
	}()
	select {
	case <-flushed:
		p.stop()
		return nil
	case <-ctx.Done():
		p.stop()
		return fmt.Errorf("close producer: not everything was written: %w", ctx.Err())
	}
}
