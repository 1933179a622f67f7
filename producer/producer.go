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

// Producer sends messages. It may be used by any number of goroutines.
type Producer struct {
	cfg     Config
	rdb     redis.UniversalClient
	scripts *luascripts.Scripts
	topics  atomic.Pointer[map[message.Topic]*topic] // replaced, never changed
	first   atomic.Pointer[topic]                    // that was sent to

	// Other values only in tests.
	frozen   func() time.Time // the server's clock; nil: it is asked
	patience time.Duration    // of the flushers

	// Each line has a flusher, a goroutine that lives while there is something
	// to write.
	peers  cluster.Peers   // where slots are moving
	doubts doubts          // whether a server is the master still
	run    context.Context // their commands'; ended when Close can wait no longer
	stop   context.CancelFunc
	idle   sync.WaitGroup // the flushers that live
	beside sync.WaitGroup // what looks at definitions and clocks again

	mu     sync.Mutex
	closed bool
	lines  map[route]*line
	busy   int // lines that are flushing
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
	cfg.Logger, _ = latelog.Beside(cfg.Logger) // what it says is for debugging, and holds up no send
	p := &Producer{
		cfg: cfg, rdb: rdb, scripts: luascripts.New(rdb), lines: map[route]*line{},
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
	var err error
	if busy > 0 { // else it does not matter whether ctx has ended
		if err = wait.Group(ctx, &p.idle); err != nil {
			err = fmt.Errorf("close producer: not everything was written: %w", err)
		}
	}
	p.stop()
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_ = wait.Group(short, &p.beside) // a server may not answer, and nothing depends on it
	return err
}

// aside runs do in a goroutine of its own, unless everything has been written and
// the producer is closed.
func (p *Producer) aside(do func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed && p.busy == 0 {
		return false
	}
	p.beside.Go(do)
	return true
}
