package producer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/frozen"
	"github.com/slotmq/go-rmq/internal/latelog"
	"github.com/slotmq/go-rmq/internal/wait"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// Producer sends messages. Any number of goroutines may use it.
type Producer struct {
	cfg     Config
	rdb     redis.UniversalClient
	scripts *luascripts.Scripts
	topics  atomic.Pointer[map[message.Topic]*topic] // replaced, never changed
	first   atomic.Pointer[topic]                    // that was sent to

	// Other values only in tests.
	frozen   func() time.Time // the server's clock; nil: it is asked
	retryFor time.Duration    // of the flushers

	// Each writer has a flusher, a goroutine that runs while there is something to write.
	peers      cluster.Peers   // where slots are moving
	doubts     doubts          // whether a server is still the master
	run        context.Context // of the flushers' commands; ends when Close waits no longer
	stop       context.CancelFunc
	idle       sync.WaitGroup // the flushers that run
	background sync.WaitGroup // comparisons of definitions, looks at clocks

	mu      sync.Mutex
	closed  bool
	writers map[route]*writer
	busy    int // writers that are flushing
}

// New returns a producer on rdb, which you close yourself. It does no I/O; the first Send
// does.
func New(rdb redis.UniversalClient, cfg Config) (*Producer, error) {
	if rdb == nil {
		return nil, errors.New("new producer: the Redis client is nil")
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("new producer: %w", err)
	}
	cfg.Logger, _ = latelog.Beside(cfg.Logger) // for debugging only; it delays no send
	p := &Producer{
		cfg: cfg, rdb: rdb, scripts: luascripts.New(rdb), writers: map[route]*writer{},
		frozen: frozen.Clock(rdb), retryFor: retryFor,
	}
	p.topics.Store(&map[message.Topic]*topic{})
	p.run, p.stop = context.WithCancel(context.Background())
	return p, nil
}

// Close refuses further sends, writes what waits, and returns when Redis has answered. If
// ctx ends first, it gives up and returns an error, and so do the sends that still wait.
// You may call it more than once. It does not close the Redis client.
func (p *Producer) Close(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("close producer: %w", errNilContext)
	}
	defer p.peers.Close()
	p.mu.Lock()
	p.closed = true
	busy := p.busy
	p.mu.Unlock()
	var err error
	if busy > 0 { // else it does not matter whether ctx has ended
		if err = wait.Group(ctx, &p.idle); err != nil {
			err = fmt.Errorf("close producer: not everything was written: %w", err)
		}
	}
	p.stop()
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_ = wait.Group(short, &p.background) // a server may not answer, and nothing depends on it
	return err
}

// goBackground runs do in a goroutine, unless the producer is closed and has written
// everything.
func (p *Producer) goBackground(do func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed && p.busy == 0 {
		return false
	}
	p.background.Go(do)
	return true
}
