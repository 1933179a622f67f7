package consumer

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/logs"
	"github.com/slotmq/go-rmq/internal/logs/latelog"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/away"
	"github.com/slotmq/go-rmq/internal/servers/frozen"
	"github.com/slotmq/go-rmq/internal/servers/wakeups"
	"github.com/slotmq/go-rmq/internal/sharing/fleet"
	"github.com/slotmq/go-rmq/internal/worker/breaker"
	"github.com/slotmq/go-rmq/internal/worker/intake"
	"github.com/slotmq/go-rmq/internal/worker/longrun"
	"github.com/slotmq/go-rmq/internal/worker/watchdog"
	"github.com/slotmq/go-rmq/message"
)

// Consumer is a worker: it delivers the messages of the topics it listens to.
type Consumer struct {
	cfg     Config
	rdb     redis.UniversalClient
	scripts *protocol.Scripts
	log     *zap.Logger
	lines   *latelog.Lines                  // of the log, not written yet
	away    *away.Log                       // what it says of servers that are away
	id      string                          // of this worker, never used again; with ZooKeeper, what its ids begin with
	shares  func(fleet.Config) *fleet.Fleet // makes the fleet: by Redis or by ZooKeeper
	recheck time.Duration                   // between comparisons of the definitions
	silence time.Duration                   // before the subscription is asked for a sign of life

	stuckAfter   time.Duration // see Alive
	longestPause time.Duration // see breaker
	longRun      time.Duration // see package longrun
	grace        time.Duration // of Close

	mu      sync.Mutex
	phase   phase
	topics  []*topic
	listens map[string]bool      // to topics, by name
	onDeath map[string]deathFunc // by the name of the topic
	trying  *try                 // a start that is under way, or being undone
	ended   chan struct{}        // closed when everything has ended after Close
	result  error                // of Close

	pace    *intake.Pace
	running *running                    // set by Start
	joined  atomic.Pointer[fleet.Fleet] // that of running; not under mu, since a Middleware may call Worker
}

// phase of a consumer's life. It only goes forward.
type phase uint8

const (
	fresh phase = iota
	started
	closed
)

// New returns a consumer on rdb, which stays the caller's to close. It does no
// I/O.
func New(rdb redis.UniversalClient, cfg Config) (*Consumer, error) {
	if rdb == nil {
		return nil, fmt.Errorf("new consumer: %w", errNilRedis)
	}
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("new consumer: %w", err)
	}
	id, called, shares := cfg.Worker, "worker", fleet.ByZooKeeper // the ids come with the sessions
	if cfg.Slots == nil {
		random := make([]byte, 4)
		_, _ = rand.Read(random) // never fails
		id, called, shares = id+"-"+hex.EncodeToString(random), "member", fleet.ByRedis
	} else if err := cfg.Slots.Keeper().Validate(cfg.Namespace); err != nil {
		return nil, fmt.Errorf("new consumer: %w", err)
	}
	cfg.Logger = logs.Choose(cfg.Logger, cfg.Slog)
	said := away.In(cfg.Logger)
	// A log that blocks must keep nothing from cancelling a handler in time.
	var lines *latelog.Lines
	cfg.Logger, lines = latelog.Beside(cfg.Logger)
	c := &Consumer{
		cfg: cfg, rdb: rdb, scripts: protocol.New(rdb), id: id, shares: shares, lines: lines, away: said,
		log: cfg.Logger.With(zap.String(called, id)), recheck: fleet.Recheck, silence: wakeups.SilenceOf(rdb), listens: map[string]bool{}, onDeath: map[string]deathFunc{},
		stuckAfter: stuckAfter, longestPause: breaker.LongestPause, longRun: longrun.Long, grace: grace,
		pace: intake.NewPace(intake.Gap),
	}
	frozen.Work(rdb, c.settle)
	return c, nil
}

// Worker returns the id of this worker, which people see as the holder of slots.
// With ZooKeeper that is its name until it has started, and another id after each
// session that was lost.
func (c *Consumer) Worker() string {
	if f := c.joined.Load(); f != nil {
		return f.Present().Worker()
	}
	return c.id
}

// Start begins to work and returns when it has: the definitions agree, and the worker
// is in the list of members (or a newcomer on its way there), or has a session with
// ZooKeeper. ctx bounds the start only; Close ends the work. When ctx ends, Start
// returns at once, and what was begun is undone in the background: another Start waits
// for that.
func (c *Consumer) Start(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("start consumer: %w", errNilContext)
	}
	try, err := c.try(ctx)
	if err == nil {
		select {
		case <-try.done:
			err = try.err
		case <-ctx.Done():
			c.mu.Lock()
			if c.phase != started { // and it will not be any more
				err = ctx.Err()
			}
			c.mu.Unlock()
		}
	}
	if err != nil {
		return fmt.Errorf("start consumer: %w", err)
	}
	return nil
}

// try is one Start on its way.
type try struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when the worker runs, or nothing is left of it
	err    error
}

// try begins to start, when an earlier try is over.
func (c *Consumer) try(ctx context.Context) (*try, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.trying != nil {
		before := c.trying
		c.mu.Unlock()
		select {
		case <-before.done:
		case <-ctx.Done():
		}
		c.mu.Lock()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	switch {
	case c.phase == closed:
		return nil, message.ErrClosed
	case c.phase == started:
		return nil, errRunning
	case len(c.topics) == 0:
		return nil, errors.New("no topic has a listener")
	}
	if err := c.checkDeaths(); err != nil {
		return nil, err
	}
	within, cancel := context.WithCancel(ctx)
	t := &try{cancel: cancel, done: make(chan struct{})}
	c.trying = t
	go func() {
		defer close(t.done)
		defer cancel()
		t.err = c.start(within)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.trying = nil
		switch {
		case t.err == nil:
		case c.phase == closed:
			t.err = message.ErrClosed
		case ctx.Err() != nil:
			t.err = ctx.Err()
		}
	}()
	return t, nil
}

// start is one try of Start. When it fails it leaves nothing behind, and may be
// repeated.
func (c *Consumer) start(ctx context.Context) error {
	if c.cfg.Slots == nil { // else the session takes the place of the lease
		c.cfg.Lease = watchdog.LongEnough(ctx, c.rdb, c.cfg.Lease, c.log)
	}
	w := newRunning(c)
	if err := w.fleet.Agree(ctx); err != nil {
		w.life.End(nil)
		return err
	}
	w.build(c)
	// Subscribed first, so that nothing sent after the first look is missed.
	sub, err := w.subscriber.Subscribe(ctx)
	if err == nil {
		w.policies.Begin(ctx)
	}
	if err == nil {
		err = w.fleet.Join(ctx, w.schedule, w.scheduled)
	}
	if err == nil {
		err = c.run(ctx, w, sub)
	}
	if err != nil {
		if sub != nil {
			_ = sub.Close()
			w.leaveFleet(w.fleet.Undo)
		}
		w.policies.End()
		w.life.End(nil)
	}
	return err
}

// run begins the work, unless ctx has ended or the consumer was closed meanwhile.
func (c *Consumer) run(ctx context.Context, w *running, sub *wakeups.Subscription) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.phase == closed: // which is about to end ctx
		return message.ErrClosed
	case ctx.Err() != nil:
		return ctx.Err()
	}
	c.phase, c.running = started, w
	c.joined.Store(w.fleet)
	w.run(sub)
	c.log.Info("worker started", zap.Int("topics", len(c.topics)))
	noSuchPlaces(c.cfg, c.topics)
	return nil
}
