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
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/poll"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// answerWithin is how long a request waits for Redis, which may be away for a moment.
const answerWithin = 10 * time.Second

// Gateway is an http.Handler.
type Gateway struct {
	cfg       Config
	log       *zap.Logger
	mux       *http.ServeMux
	inspector *inspector.Inspector
	access    *access
	metrics   *Metrics
	sends     *sends
	takes     *takes

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
	g := &Gateway{cfg: cfg, log: cfg.Logger, access: newAccess(cfg), metrics: &Metrics{},
		answerWithin: answerWithin, bodyWithin: bodyWithin, readWithin: readWithin}
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
	var journal record.Journal // not a pointer in an interface that is not nil
	if g.cfg.Journal != nil {
		journal = g.cfg.Journal
	}
	p, err := producer.New(g.cfg.Redis, producer.Config{
		Namespace: g.cfg.Namespace, Journal: journal, ExactReceipts: true, MaxContent: g.cfg.MaxContent, MaxWaiting: g.cfg.MaxWaitingPerSlot,
		Observers: append([]message.Observer{g.metrics}, g.cfg.Observers...), Logger: g.log,
	})
	if err != nil {
		return err
	}
	poller, err := poll.New(poll.Config{Redis: g.cfg.Redis, Namespace: g.cfg.Namespace, Journal: journal, Observers: g.cfg.Observers, Logger: g.log})
	if err != nil {
		return err
	}
	if g.inspector, err = inspector.New(g.cfg.Redis, inspector.Config{Namespace: g.cfg.Namespace, Slots: g.cfg.Slots, Journal: journal}); err != nil {
		return err
	}
	g.sends = &sends{producer: p, defined: &definitions{inspector: g.inspector, scripts: protocol.New(g.cfg.Redis)}}
	g.takes = &takes{poller: poller, metrics: g.metrics, waiting: make(chan struct{}, g.cfg.MaxWaiting)}
	g.metrics.waiting = func() int { return len(g.takes.waiting) }
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
	return errors.Join(g.takes.poller.Close(ctx), g.sends.producer.Close(ctx))
}

// handler wraps a route: who asks, whether that one may, and what becomes of an error.
func (g *Gateway) handler(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodHead && r.changes() { // ServeMux takes it for GET
			g.unknown(w, req)
			return
		}
		c := &call{Gateway: g, w: w, r: req, right: r.right}
		if err := c.serve(r); err != nil {
			if p := c.fail(err); !c.begun {
				p.Write(w)
			}
		}
	})
}

func (c *call) serve(r route) error {
	if r.changes() && ofOtherSites(c.r) {
		return problem.New("other-site", "a page of another site asks for this, in a browser: only programs, and pages of this host, may change something")
	}
	if err := c.access.check(c); err != nil {
		return err
	}
	c.note()
	if r.params != nil {
		var err error
		if c.query, err = request.ReadQuery(c.r.URL.RawQuery, r.params); err != nil {
			return err
		}
	}
	return r.serve(c)
}
