package poll

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/logs"
	"github.com/slotmq/go-rmq/internal/observers"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/away"
	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/internal/servers/wakeups"
	"github.com/slotmq/go-rmq/message"
)

// Poller takes batches of messages for callers, and finishes them. Any number of goroutines may use it.
type Poller struct {
	*process

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup // under way
}

// idleTopic is how long a topic stays open that nobody takes from.
const idleTopic = time.Minute

// New returns a poller. It does no I/O.
func New(cfg Config) (*Poller, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("new poller: %w", err)
	}
	watching := slices.Clone(cfg.Observers)
	if cfg.Journal != nil {
		watching = append(watching, cfg.Journal)
	}
	log := away.Share(logs.Choose(cfg.Logger, cfg.Slog)) // its topics'
	p := &process{
		cfg: cfg, scripts: protocol.New(cfg.Redis), observers: observers.New(watching, log), log: log.With(zap.String("taker", cfg.Worker)),
		life: lifetime.New(), id: protocol.TakerID(cfg.Worker, newBits()), idleAfter: idleTopic, topics: topics{all: map[string]*topic{}},
	}
	p.away = p.watch(p.life)
	p.publisher = &wakeups.Publisher{Life: p.life, Redis: cfg.Redis, Log: p.log}
	return &Poller{process: p}, nil
}

// begin has Close wait for a call, which ends with calls.Done.
func (p *Poller) begin() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return message.ErrClosed
	}
	p.calls.Add(1)
	return nil
}

// Close ends all takes, and gives back what nobody has. Batches that are out stay with who has them, and are to be
// finished by another process. It waits until ctx ends at the most.
func (p *Poller) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.life.EndBackground() // ends the waits
	var closing sync.WaitGroup
	closing.Go(p.calls.Wait)
	err := wait.Group(ctx, &closing)
	p.topics.mu.Lock()
	all := slices.Collect(maps.Values(p.topics.all))
	p.topics.mu.Unlock()
	for _, t := range all {
		closing.Go(func() { t.close(message.ErrClosed) })
	}
	if err == nil {
		err = wait.Group(ctx, &closing)
	}
	if err == nil {
		err = wait.For(ctx, func(context.Context) error { p.life.Wait(); return nil })
	}
	for _, t := range all {
		t.abandon(message.ErrClosed)
	}
	p.life.End(message.ErrClosed)
	if err != nil {
		return fmt.Errorf("close poller: %w", errors.Join(err, errors.New("Redis has not answered in time; batches that were not received may stay out until their time to run is over")))
	}
	return nil
}
