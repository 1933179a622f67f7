package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
	"github.com/slotmq/go-rmq/server/tokens"
)

// call is one request.
type call struct {
	*Gateway
	w      http.ResponseWriter
	r      *http.Request
	query  request.Query // what the route has
	right  tokens.Right
	holder *tokens.Holder
	begun  bool // the answer
}

// ctx ends with the request.
func (c *call) ctx() context.Context { return c.r.Context() }

// topic is that of the path; empty: the route has none.
func (c *call) topic() string { return c.r.PathValue("topic") }

// clock is what the clock of Redis says.
func (c *call) clock() (time.Time, error) { return cluster.Now(c.ctx(), c.cfg.Redis) }

// note logs who did something that only people on call do.
func (c *call) note() {
	if c.right == tokens.Act {
		c.log.Info("act", zap.String("by", c.holder.Name), zap.String("request", c.r.Pattern), zap.String("topic", problem.Shorten(c.topic())))
	}
}

// reading makes a route of what is done with a body.
func reading[T any](do func(c *call, asked T) error) func(c *call) error {
	return func(c *call) error {
		var asked T
		if err := c.read(&asked); err != nil {
			return err
		}
		return do(c, asked)
	}
}

// read reads the body into a struct.
func (c *call) read(into any) error {
	if _, err := request.Type(c.r.Header.Get("Content-Type"), request.JSON); err != nil {
		return err
	}
	text, err := c.body()
	if err != nil {
		return err
	}
	return request.Decode(text, into)
}

// body is the whole body.
func (c *call) body() ([]byte, error) {
	if c.r.ContentLength > int64(c.cfg.MaxBody) {
		return nil, c.tooLarge()
	}
	conn := http.NewResponseController(c.w)
	_ = conn.SetReadDeadline(time.Now().Add(c.bodyWithin)) // where it can be set
	text, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, int64(c.cfg.MaxBody)))
	if err == nil { // else what is left of the body, which net/http reads before it answers, would have no bound
		_ = conn.SetReadDeadline(time.Time{}) // it would end a take that waits
	}
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, c.tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		p := problem.BadRequest("the body did not arrive within %v", c.bodyWithin)
		p.Slow = true
		return nil, p
	case err != nil:
		return nil, problem.BadRequest("the body did not arrive whole: %v", err)
	}
	return text, nil
}

func (c *call) tooLarge() error {
	return problem.TooLarge(c.cfg.MaxBody, "the body is larger than %d bytes: send fewer messages at once, or start rmqd serve with a larger --max-body")
}

// answer writes an object.
func (c *call) answer(status int, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	c.begin(request.JSON, status)
	_, err = c.w.Write(append(text, '\n'))
	return err
}

// begin writes the head of an answer that must not be cached.
func (c *call) begin(kind string, status int) {
	c.begun = true
	c.w.Header().Set("Content-Type", kind)
	c.w.Header().Set("Cache-Control", "no-store")
	c.w.WriteHeader(status)
}

// problem says what an error means to who asks.
func (c *call) problem(err error) *problem.Problem {
	if errors.Is(err, inspector.ErrUnknownTopic) && c.holder != nil && !c.all() { // its text names others
		if c.topic() == "" {
			return problem.UnknownTopic("there is no such topic")
		}
		return problem.UnknownTopic(fmt.Sprintf("there is no topic %q", problem.Shorten(c.topic())))
	}
	return problem.Of(err, c.closing.Err() != nil)
}

// fail notes an error, and says what it means. If the client has gone, it ends the request. Returning would answer 200;
// a client that has closed only its own direction of the connection would read that and take it for the answer.
func (c *call) fail(err error) *problem.Problem {
	p := c.problem(err)
	if !p.Slow && !c.begun && c.ctx().Err() != nil {
		panic(http.ErrAbortHandler)
	}
	if p.Status >= http.StatusInternalServerError && c.ctx().Err() == nil { // which is no fault of who asks
		c.log.Warn("a request failed", zap.String("request", c.r.Pattern), zap.Int("status", p.Status), zap.Error(err))
	}
	return p
}
