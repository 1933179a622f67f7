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
	"github.com/slotmq/go-rmq/internal/servers/rights"
	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/internal/servers/wakeups"
	"github.com/slotmq/go-rmq/message"
)

// Poller takes batches of messages for callers, and finishes them. Any number of goroutines may use it.
type Poller struct {
	cfg       Config
	scripts   *protocol.Scripts
	observers *observers.Observers // nil: nobody watches
	log       *zap.Logger
	life      *lifetime.Lifetime // of what belongs to no desk
	id        string             // in the lists of those who take
	idleAfter time.Duration
	away      *away.Watch
	announcer *wakeups.Publisher

	mu     sync.Mutex
	desks  map[string]*desk // by the name of their topic
	closed bool
	calls  sync.WaitGroup // under way
}

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
	log := away.Share(logs.Choose(cfg.Logger, cfg.Slog)) // its desks'
	p := &Poller{
		cfg: cfg, scripts: protocol.New(cfg.Redis), observers: observers.New(watching, log), log: log.With(zap.String("taker", cfg.Worker)),
		life: lifetime.New(), id: protocol.TakerID(cfg.Worker, newBits()), idleAfter: idleDesk, desks: map[string]*desk{},
	}
	p.away = p.watch(p.life)
	p.announcer = &wakeups.Publisher{Life: p.life, Redis: cfg.Redis, Log: p.log}
	return p, nil
}

// watch is what notices that a server is away, as long as a lifetime lasts.
func (p *Poller) watch(s *lifetime.Lifetime) *away.Watch {
	return &away.Watch{Log: away.In(p.log), Redis: p.cfg.Redis, Ctx: s.Background, Go: func(look func()) bool {
		s.Go(look)
		return true
	}}
}

// errClosed is what is told to those who wait while the poller closes.
var errClosed = message.ErrClosed

// begin has Close wait for a call, which ends with calls.Done.
func (p *Poller) begin() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errClosed
	}
	p.calls.Add(1)
	return nil
}

// join has a taker wait at the desk of a topic. The first one opens it.
func (p *Poller) join(ctx context.Context, topic string, t *taker) (*seat, error) {
	for {
		d := p.desk(topic)
		if err := p.until(ctx, d.opened); err != nil {
			return nil, err
		}
		if d.failed != nil {
			return nil, d.failed
		}
		if s, err := d.join(t); s != nil || err != nil {
			return s, err
		}
		// It closes just now, because nobody has come for long.
		if err := p.until(ctx, d.closed); err != nil {
			return nil, err
		}
	}
}

// explain says what to do about an error by which Redis refuses something.
func (p *Poller) explain(err error) error { return rights.Explain(err, rights.User(p.cfg.Redis)) }

// until waits for something, or until ctx ends or the poller closes.
func (p *Poller) until(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-p.life.Background.Done():
		return errClosed
	}
}

// desk is the one of a topic.
func (p *Poller) desk(topic string) *desk {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.desks[topic]
	if d == nil {
		d = newDesk(p, topic)
		p.desks[topic] = d
		go d.open()
	}
	return d
}

// openDesk is the desk of a topic if there is one that works; nil otherwise.
func (p *Poller) openDesk(topic string) *desk {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.desks[topic]
	if d == nil {
		return nil
	}
	select {
	case <-d.opened:
	default:
		return nil
	}
	if d.failed != nil {
		return nil
	}
	return d
}

// forget takes out a desk that is closed, or could not be opened.
func (p *Poller) forget(d *desk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.desks, d.name)
	close(d.closed)
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
	p.mu.Lock()
	all := slices.Collect(maps.Values(p.desks))
	p.mu.Unlock()
	for _, d := range all {
		closing.Go(func() { d.close(errClosed) })
	}
	if err == nil {
		err = wait.Group(ctx, &closing)
	}
	if err == nil {
		err = wait.For(ctx, func(context.Context) error { p.life.Wait(); return nil })
	}
	for _, d := range all {
		d.abandon(errClosed)
	}
	p.life.End(errClosed)
	if err != nil {
		return fmt.Errorf("close poller: %w", errors.Join(err, errors.New("Redis has not answered in time; batches that were not received may stay out until their time to run is over")))
	}
	return nil
}
