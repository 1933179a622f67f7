package console

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/internal/sessions"
)

// Console is an http.Handler.
type Console struct {
	cfg       Config
	log       *zap.Logger
	inspector *inspector.Inspector
	collector *collector
	census    *census
	past      *past
	jobs      *jobs
	sessions  *sessions.Sessions
	pages     map[string]*page
	streams   chan struct{} // has a place for each that may be open
	asking    chan struct{} // has a place for each who may have something read at a time
	exporting chan struct{}

	answerWithin time.Duration
	countWithin  time.Duration
	key          []byte // of digests

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
	cfg = cfg.withDefaults()
	var journal message.Journal // not a pointer in an interface that is not nil
	if cfg.Journal != nil {
		journal = cfg.Journal
	}
	i, err := inspector.New(cfg.Redis, inspector.Config{Namespace: cfg.Namespace, Slots: cfg.Slots, Journal: journal, HideContents: cfg.HideContents})
	if err != nil {
		return nil, fmt.Errorf("new console: %w", err)
	}
	c := &Console{cfg: cfg, log: cfg.Logger, inspector: i, collector: newCollector(newProcessors(cfg.Redis).meter), census: newCensus(), past: newPast(), jobs: newJobs(), sessions: sessions.New(),
		streams: make(chan struct{}, mostStreams), asking: make(chan struct{}, mostAsking), exporting: make(chan struct{}, mostAsking), answerWithin: answerWithin, countWithin: answerWithin * 2 / 3,
		key: []byte(rand.Text())}
	c.pages = c.allPages()
	c.closing, c.cancel = context.WithCancel(context.Background())
	c.collector.closing = c.closing
	c.collector.keep(topicsSubject, pastStep, c.readTopics)
	c.collector.keep(doctorSubject, doctorEvery, c.readDoctor)
	c.running.Go(func() { c.collector.run(c.closing) })
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
var errClosing = &problem{http.StatusServiceUnavailable, "This console is being closed."}

// hold has Close wait until running.Done is called. Behind Close it is an error.
func (c *Console) hold() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing.Err() != nil {
		return errClosing
	}
	c.running.Add(1)
	return nil
}

// browsers refuses requests that a page of another site has a browser send.
var browsers http.CrossOriginProtection

// ServeHTTP answers a request. Only what follows the last / of its path counts.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	guard(w.Header())
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if file, is := static[name]; is {
		file.serve(w, r)
		return
	}
	v := &visit{Console: c, w: w, r: r, name: name}
	ctx, cancel := context.WithTimeout(r.Context(), c.answerWithin)
	defer cancel()
	v.ctx = ctx
	if err := v.serve(); err != nil {
		v.fail(err)
	}
}

// serve finds out who asks, and then which page answers.
func (v *visit) serve() error {
	if v.r.Method != http.MethodGet && v.r.Method != http.MethodHead {
		if v.r.Method != http.MethodPost {
			v.w.Header().Set("Allow", "GET, HEAD, POST")
			return &problem{http.StatusMethodNotAllowed, "Only GET, HEAD and POST are allowed here."}
		}
		if browsers.Check(v.r) != nil {
			return &problem{http.StatusForbidden, "This form was sent by a page of another site. Open the console itself, and try again."}
		}
		v.r.Body = http.MaxBytesReader(v.w, v.r.Body, mostForm)
	}
	if err := v.readable(); err != nil {
		return err
	}
	if err := v.admit(); err != nil || v.answered {
		return err
	}
	if v.name == "live" {
		return v.stream()
	}
	if v.name == "export" && v.r.Method != http.MethodPost {
		return v.export()
	}
	p := v.pages[v.name]
	if p == nil || p.load == nil && v.r.Method != http.MethodPost {
		return &problem{http.StatusNotFound, "There is no such page here."}
	}
	v.page = p
	if p.asks || v.param("done") != "" {
		if err := v.enter(v.asking); err != nil {
			return err
		}
		defer func() { <-v.asking }()
	}
	if v.r.Method == http.MethodPost {
		if p.post == nil {
			return &problem{http.StatusMethodNotAllowed, "There is nothing to change on this page."}
		}
		if p.acts {
			if err := v.mayAct(v.param("topic")); err != nil {
				return err
			}
			defer v.collector.act()
		}
		return p.post(v)
	}
	return v.show(p)
}
