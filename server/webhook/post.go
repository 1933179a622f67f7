package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/server/internal/ids"
)

// listener sends the messages of a topic to their target.
type listener struct {
	Target
	ids       *ids.IDs // set when it begins
	to        *url.URL
	shown     string // of the URL, for people
	keys      atomic.Pointer[keys]
	transport *http.Transport
	brake     brake
	log       *zap.Logger
}

// newListener makes the listener of a target that is checked and complete.
func newListener(t Target, log *zap.Logger) *listener {
	to, _ := url.Parse(t.URL) // Check has parsed them
	k, _ := keysOf(t.Secrets)
	l := &listener{Target: t, to: to, shown: display(to), transport: t.newTransport()}
	l.keys.Store(&k)
	l.log = log.With(zap.String("topic", t.Topic.Name), zap.String("target", l.shown))
	return l
}

// afterTimeout is how much longer a handler may take than its request. So the request times out
// first, and says where.
const afterTimeout = 5 * time.Second

func (l *listener) options() rmq.ListenOptions {
	return rmq.ListenOptions{Timeout: l.Timeout + afterTimeout, Concurrency: l.Concurrency, Backoff: l.Backoff}
}

var (
	errTimeout = errors.New("the target takes too long")
	errResting = errors.New("the target takes nothing at present")
)

// OnMessage sends one message, and waits for the answer.
func (l *listener) OnMessage(ctx context.Context, d *rmq.Delivery) error {
	if rest := l.brake.rest(time.Now()); rest > 0 {
		return rmq.Pushback(rest, errResting)
	}
	id, err := l.ids.Begin(ctx, d)
	if err != nil {
		return rmq.Pushback(shortestWait, fmt.Errorf("give it a webhook-id: %w", err))
	}
	back, err := l.try(ctx, d, id)
	if back {
		l.ids.Back(ctx, d)
	}
	return err
}

// try sends one message once. It returns whether the target surely has not handled it.
func (l *listener) try(ctx context.Context, d *rmq.Delivery, id string) (back bool, err error) {
	bounded, cancel := context.WithTimeoutCause(ctx, l.Timeout, errTimeout)
	defer cancel()
	a, err := l.post(bounded, d, id)
	switch {
	case err == nil:
		l.reached()
		return l.judge(a)
	case ctx.Err() != nil: // not our affair: the worker closes, or the message was cancelled
		return false, context.Cause(ctx)
	case a.connected:
		l.reached()
		l.brake.answered()
		return false, fmt.Errorf("%s: no answer: %w", l.shown, l.explained(bounded, err))
	}
	err = fmt.Errorf("%s: no connection: %w", l.shown, l.explained(bounded, err))
	rest, isNew := l.brake.unreachable(time.Now())
	if isNew {
		l.log.Warn("the target cannot be reached: messages wait, and spend no attempts", zap.Error(err))
	}
	return a.written == 0, rmq.Pushback(rest, err)
}

func (l *listener) reached() {
	if away := l.brake.reached(time.Now()); away > 0 {
		l.log.Warn("the target can be reached again", zap.Duration("after", away))
	}
}

// answer is what a target has answered.
type answer struct {
	connected bool // there was a connection
	written   int  // requests: two if the first met a connection that was being closed, and what became of it is not known
	status    int
	header    http.Header
	body      string // its beginning
	broken    error  // why that ended before its end
}

// post makes the request of a delivery.
func (l *listener) post(ctx context.Context, d *rmq.Delivery, id string) (a answer, err error) {
	var connected atomic.Bool
	var written atomic.Int64
	trace := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:      func(string) { connected.Store(false) }, // it may be called again, if a connection that was kept is closed
		GotConn:      func(httptrace.GotConnInfo) { connected.Store(true) },
		WroteHeaders: func() { written.Add(1) },
	})
	r, err := http.NewRequestWithContext(trace, http.MethodPost, l.URL, strings.NewReader(d.Content))
	if err != nil {
		return a, err
	}
	r.Header = l.headers(d, id, time.Now())
	r.Header["Idempotency-Key"] = nil // not sent: it lets RoundTrip repeat what met a connection that the target had closed
	resp, err := l.transport.RoundTrip(r)
	a.connected, a.written = connected.Load(), int(written.Load())
	if err != nil {
		return a, err
	}
	defer resp.Body.Close() // what is left of the body is not waited for
	a.status, a.header = resp.StatusCode, resp.Header
	if a.status == http.StatusSwitchingProtocols { // its body is the connection, and ends with no context
		return a, nil
	}
	body, broken := io.ReadAll(io.LimitReader(resp.Body, longestBody))
	a.body, a.broken = string(body), l.explained(ctx, broken)
	return a, nil
}

// explained is an error in words for people, in one line. It knows no secrets: RoundTrip does not name the URL.
func (l *listener) explained(ctx context.Context, err error) error {
	var noTLS tls.RecordHeaderError
	switch {
	case err == nil:
		return nil
	case errors.Is(context.Cause(ctx), errTimeout):
		return fmt.Errorf("it took longer than %v", l.Timeout)
	case errors.As(err, &noTLS):
		return errors.New("it does not speak TLS")
	case errors.Is(err, io.EOF):
		return errors.New("the connection was closed")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the connection was closed before the end")
	}
	return errors.New(firstLine(err.Error(), 2*longestBodyLine))
}
