package producer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/logs"
	"github.com/slotmq/go-rmq/internal/logs/latelog"
	"github.com/slotmq/go-rmq/internal/observers"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/away"
	"github.com/slotmq/go-rmq/internal/servers/frozen"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// Producer sends messages. Any number of goroutines may use it.
type Producer struct {
	*shared
	stop     context.CancelFunc // ends shared.run
	topics   *topics
	executor *executor
	writers  *writers
	wrapped  Sender // in all middleware; nil: there is none
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
	cfg.Logger = logs.Choose(cfg.Logger, cfg.Slog)
	log := away.In(cfg.Logger)
	cfg.Logger, _ = latelog.Beside(cfg.Logger) // for debugging only; it delays no send
	all := &shared{cfg: cfg, rdb: rdb, scripts: protocol.New(rdb), frozen: frozen.Clock(rdb), retryFor: retryFor, sendTimeout: sendTimeoutOf(rdb, cfg)}
	all.observers = observers.New(cfg.Observers, cfg.Logger)
	p := &Producer{shared: all, topics: newTopics(all), executor: &executor{shared: all, doubts: newDoubts()}}
	p.run, p.stop = context.WithCancel(context.Background())
	all.away = &away.Watch{Log: log, Redis: rdb, Ctx: p.run, Go: all.goBackground}
	p.writers = &writers{shared: all, executor: p.executor, all: map[route]*writer{}}
	if err := p.wrap(); err != nil {
		return nil, fmt.Errorf("new producer: %w", err)
	}
	return p, nil
}

// Close refuses further sends, writes what waits, and returns when Redis has answered. If
// ctx ends first, it gives up and returns an error, and so do the sends that still wait: at
// most 0.1 s later, whatever Redis does.
// You may call it more than once. It does not close the Redis client.
func (p *Producer) Close(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("close producer: %w", errNilContext)
	}
	defer p.executor.peers.Close()
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
