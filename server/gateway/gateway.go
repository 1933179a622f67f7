package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/observers"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/poll"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/server/tokens"
)

// answerWithin is how long a request waits for Redis, which may be away for a moment.
const answerWithin = 10 * time.Second

// Gateway is an http.Handler.
type Gateway struct {
	cfg       Config
	log       *zap.Logger
	mux       *http.ServeMux
	producer  *producer.Producer
	poller    *poll.Poller
	inspector *inspector.Inspector

	scripts *luascripts.Scripts
	defined definitions

	access  *access
	metrics *Metrics
	waiting chan struct{} // has a place for each take that may wait

	answerWithin, bodyWithin, readWithin time.Duration // see the constants

	closing context.Context // ends with Drain
	drain   context.CancelFunc
}

// New returns a gateway. It does no I/O.
func New(cfg Config) (*Gateway, error) {
	cfg = cfg.withDefaults()
	err := cfg.validate()
	if err == nil {
		err = observers.Valid(cfg.Observers)
	}
	g := &Gateway{cfg: cfg, log: cfg.Logger, access: newAccess(cfg), metrics: &Metrics{}, waiting: make(chan struct{}, max(cfg.MaxWaiting, 0)),
		answerWithin: answerWithin, bodyWithin: bodyWithin, readWithin: readWithin}
	g.metrics.waiting = func() int { return len(g.waiting) }
	g.closing, g.drain = context.WithCancel(context.Background())
	if err == nil {
		err = g.build()
	}
	if err != nil {
		return nil, fmt.Errorf("new gateway: %w", err)
	}
	return g, nil
}

func (g *Gateway) build() (err error) {
	var told message.Journal // not a pointer in an interface that is not nil
	if g.cfg.Journal != nil {
		told = g.cfg.Journal
	}
	if g.producer, err = producer.New(g.cfg.Redis, producer.Config{
		Namespace: g.cfg.Namespace, Journal: told, ExactReceipts: true, MaxContent: g.cfg.MaxContent, MaxWaiting: g.cfg.MaxWaitingPerSlot,
		Observers: append([]message.Observer{g.metrics}, g.cfg.Observers...), Logger: g.log,
	}); err != nil {
		return err
	}
	if g.poller, err = poll.New(poll.Config{Redis: g.cfg.Redis, Namespace: g.cfg.Namespace, Journal: told, Observers: g.cfg.Observers, Logger: g.log}); err != nil {
		return err
	}
	if g.inspector, err = inspector.New(g.cfg.Redis, inspector.Config{Namespace: g.cfg.Namespace, Slots: g.cfg.Slots, Journal: told}); err != nil {
		return err
	}
	g.scripts = luascripts.New(g.cfg.Redis)
	g.mux = http.NewServeMux()
	for _, r := range g.routes() {
		g.mux.Handle(r.pattern, g.handler(r))
	}
	g.mux.HandleFunc("/", g.unknown)
	return nil
}

// ServeHTTP answers a request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began, a := time.Now(), g.answering(w, r)
	defer func() {
		g.metrics.answered(cmp.Or(strings.TrimPrefix(r.Pattern, "/"), "other"), a.status, time.Since(began))
	}()
	g.mux.ServeHTTP(a, r)
	a.bound() // what is left of the answer
}

// Drain ends the takes that wait, and refuses further ones; all else goes on. Call it first, then
// http.Server.Shutdown, which waits for requests, and then Close.
func (g *Gateway) Drain() { g.drain() }

// Close gives back what was taken and not received, and waits until what was sent is written, or ctx ends.
// Batches that are out stay with who has them: another gateway can finish them.
func (g *Gateway) Close(ctx context.Context) error {
	g.drain()
	return errors.Join(g.poller.Close(ctx), g.producer.Close(ctx))
}

// handler wraps a route: who asks, whether that one may, and what becomes of an error.
func (g *Gateway) handler(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		c := &call{Gateway: g, w: w, r: req, right: r.right}
		if req.Method == http.MethodHead && r.changes() { // ServeMux takes it for GET
			g.unknown(w, req)
			return
		}
		err := c.ofOtherSites(r)
		if err == nil {
			err = g.access.check(c)
		}
		if err == nil {
			c.note()
			err = r.serve(c)
		}
		if err != nil {
			c.fail(err)
		}
	})
}

// call is one request.
type call struct {
	*Gateway
	w      http.ResponseWriter
	r      *http.Request
	right  tokens.Right
	holder *tokens.Holder
	begun  bool // the answer
}

// ctx ends with the request.
func (c *call) ctx() context.Context { return c.r.Context() }

// note logs who does what only people on call do.
func (c *call) note() {
	if c.right == tokens.Act {
		c.log.Info("act", zap.String("by", c.holder.Name), zap.String("request", c.r.Pattern), zap.String("topic", shorten(c.r.PathValue("topic"))))
	}
}
