package console

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/server/console/internal/census"
	"github.com/slotmq/go-rmq/server/console/internal/collector"
	"github.com/slotmq/go-rmq/server/console/internal/contents"
	"github.com/slotmq/go-rmq/server/console/internal/jobs"
	"github.com/slotmq/go-rmq/server/console/internal/pages"
	"github.com/slotmq/go-rmq/server/console/internal/problem"
	"github.com/slotmq/go-rmq/server/internal/sessions"
	"github.com/slotmq/go-rmq/server/tokens"
)

// Console is an http.Handler.
type Console struct {
	cfg       Config
	log       *zap.Logger
	inspector *inspector.Inspector
	contents  contents.Contents
	collector *collector.Collector
	census    *census.Census
	past      *census.Past
	jobs      *jobs.Jobs
	sessions  *sessions.Sessions
	pages     map[string]*page
	streams   chan struct{} // has a place for each that may be open
	asking    chan struct{} // has a place for each who may have something read at a time
	exporting chan struct{}

	answerWithin time.Duration
	countWithin  time.Duration

	closing context.Context // ends with Close
	cancel  context.CancelFunc
	mu      sync.Mutex // nothing begins to run while Close begins
	running sync.WaitGroup
}

const (
	answerWithin = 15 * time.Second // for one page: long enough for a Redis that is away for a moment
	mostStreams  = 200
	mostAsking   = 4 // people for whom something is read at a time
)

// New returns a console, which begins to look at Redis by itself. Close it when you do not need it any more.
func New(cfg Config) (*Console, error) {
	if cfg.Logger == nil {
		cfg.Logger = zap.NewNop()
	}
	var journal record.Journal // not a pointer in an interface that is not nil
	if cfg.Journal != nil {
		journal = cfg.Journal
	}
	i, err := inspector.New(cfg.Redis, inspector.Config{Namespace: cfg.Namespace, Slots: cfg.Slots, Journal: journal, HideContents: cfg.HideContents})
	if err != nil {
		return nil, fmt.Errorf("new console: %w", err)
	}
	closing, cancel := context.WithCancel(context.Background())
	c := &Console{cfg: cfg, log: cfg.Logger, inspector: i, contents: contents.New(cfg.HideContents), collector: collector.New(cfg.Redis, closing), census: census.New(), past: census.NewPast(),
		sessions: sessions.New(), pages: allPages(), streams: make(chan struct{}, mostStreams), asking: make(chan struct{}, mostAsking), exporting: make(chan struct{}, mostAsking),
		answerWithin: answerWithin, countWithin: answerWithin * 2 / 3, closing: closing, cancel: cancel}
	c.jobs = jobs.New(closing, c.hold, c.running.Done, c.collector.Notify)
	c.collector.Keep(topicsSubject, census.Step, c.readTopics)
	c.collector.Keep(doctorSubject, doctorEvery, c.readDoctor)
	c.running.Go(c.collector.Run)
	return c, nil
}

// Close ends the streams and what people have begun, such as a requeue, and waits until they have ended. Call it
// before http.Server.Shutdown, which would wait for the streams.
func (c *Console) Close() {
	c.mu.Lock()
	c.cancel()
	c.mu.Unlock()
	c.running.Wait()
}

// errClosing is the answer behind Close.
var errClosing = problem.New(http.StatusServiceUnavailable, "This console is being closed.")

// hold makes Close wait until running.Done is called. After Close it is an error.
func (c *Console) hold() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing.Err() != nil {
		return errClosing
	}
	c.running.Add(1)
	return nil
}

// browsers refuses requests that a page of another site makes a browser send.
var browsers http.CrossOriginProtection

// ServeHTTP answers a request. Only what follows the last / of its path counts.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	pages.Guard(w.Header())
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if file, is := pages.Static[name]; is {
		file.ServeHTTP(w, r)
		return
	}
	v := &visit{Console: c, asker: asker{mayDo: c.cfg.Act}, w: w, r: r, name: name}
	if c.cfg.Tokens == nil {
		v.holder = tokens.Anyone
	}
	ctx, cancel := context.WithTimeout(r.Context(), c.answerWithin)
	defer cancel()
	v.ctx = ctx
	if err := v.serve(); err != nil {
		v.fail(err)
	}
}

// serve finds out who asks, and then which page answers.
func (v *visit) serve() error {
	if err := v.readable(); err != nil {
		return err
	}
	if err := v.admit(); err != nil || v.answered {
		return err
	}
	posted := v.r.Method == http.MethodPost
	switch {
	case v.name == "live":
		return stream(v)
	case v.name == "export" && !posted:
		return export(v)
	}
	p := v.pages[v.name]
	if p == nil || p.load == nil && !posted {
		return problem.Missing("There is no such page here.")
	}
	v.page = p
	if p.asks || v.param("done") != "" {
		if err := v.enter(v.asking); err != nil {
			return err
		}
		defer func() { <-v.asking }()
	}
	if posted {
		return v.change(p)
	}
	return v.show(p)
}

// change does what a form asks for.
func (v *visit) change(p *page) error {
	if p.post == nil {
		return problem.New(http.StatusMethodNotAllowed, "There is nothing to change on this page.")
	}
	if p.acts {
		if err := v.mayAct(v.param("topic")); err != nil {
			return err
		}
		defer v.collector.Act()
	}
	return p.post(v)
}
