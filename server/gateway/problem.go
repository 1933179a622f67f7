package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/poll"
	"github.com/slotmq/go-rmq/producer"
)

// problem is an error as whoever asks sees it, by RFC 9457.
type problem struct {
	Type   string `json:"type"` // urn:rmq: and a word
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`

	// What was wrong in what was asked.
	Field string `json:"field,omitempty"`
	Value string `json:"value,omitempty"`
	Limit string `json:"limit,omitempty"`

	// Uncertain: it may have been done. Doing it again is safe.
	Uncertain bool `json:"uncertain,omitempty"`

	// Missing are the parts of a topic that could not be reached.
	Missing []wire.Missing `json:"missing,omitempty"`

	after time.Duration // ask again then; 0: nothing is said
	slow  bool          // net/http takes who sends a body slowly for gone, and it is there
}

func (p *problem) Error() string { return p.Detail }

// titles of the types. Each type has one, and always the same status.
var titles = map[string]string{
	"bad-request":   "The request cannot be read",
	"unauthorized":  "No valid token",
	"forbidden":     "The token has not this right",
	"other-site":    "A page of another site may not do this",
	"other-host":    "The request names another host",
	"not-found":     "There is no such thing",
	"unknown-topic": "There is no such topic",
	"wrong-method":  "The path is right, the method is not",
	"conflict":      "It is not possible as things are",
	"too-large":     "The request is too large",
	"wrong-type":    "The body is not of a type that is read here",
	"invalid":       "A field is not valid",
	"too-many":      "Too much at once",
	"queue-full":    "The slot is full",
	"unavailable":   "It cannot be done now",
}

// badRequest is a request that cannot be read.
func badRequest(format string, args ...any) *problem {
	return &problem{Type: "bad-request", Status: http.StatusBadRequest, Detail: fmt.Sprintf(format, args...)}
}

// invalid is a field with a value that it may not have.
func invalid(field, value, limit string) *problem {
	return &problem{Type: "invalid", Status: http.StatusUnprocessableEntity, Field: field, Value: shorten(value), Limit: limit,
		Detail: fmt.Sprintf("%s is %s; it must be %s", field, shorten(value), limit)}
}

func tooMany(after time.Duration, detail string) *problem {
	return &problem{Type: "too-many", Status: http.StatusTooManyRequests, Detail: detail, after: after}
}

// fail answers with a problem, unless an answer has begun.
func (c *call) fail(err error) {
	p := c.problem(err)
	if !p.slow {
		c.stopIfGone()
	}
	c.noteFailure(p, err)
	if !c.begun {
		p.write(c.w)
	}
}

// noteFailure logs what is no fault of who asks.
func (c *call) noteFailure(p *problem, err error) {
	if p.Status >= http.StatusInternalServerError && c.ctx().Err() == nil {
		c.log.Warn("a request failed", zap.String("request", c.r.Pattern), zap.Int("status", p.Status), zap.Error(err))
	}
}

// stopIfGone ends a request whose asker has gone. To return would be to answer 200, which who has only shut down one
// direction of the connection would read, and take for the answer.
func (c *call) stopIfGone() {
	if !c.begun && c.ctx().Err() != nil {
		panic(http.ErrAbortHandler)
	}
}

// RefuseOtherHost answers a request that names another host than those that the gateway has, and says why.
func RefuseOtherHost(w http.ResponseWriter, why string) {
	(&problem{Type: "other-host", Status: http.StatusForbidden, Detail: why}).write(w)
}

// write answers with a problem.
func (p *problem) write(w http.ResponseWriter) {
	h := w.Header()
	if p.after > 0 {
		h.Set("Retry-After", strconv.Itoa(p.seconds()))
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p.full()) // whoever asked may have gone
}

// seconds are after how many one may ask again.
func (p *problem) seconds() int { return int(math.Ceil(p.after.Seconds())) }

// full is a problem as it is written.
func (p *problem) full() *problem {
	full := *p
	if p.after > 0 {
		full.Detail += fmt.Sprintf("; ask again in %d s", p.seconds())
		if p.Uncertain {
			full.Detail += ", which is safe even if it was done"
		}
	}
	full.Type, full.Title = "urn:rmq:"+p.Type, titles[p.Type]
	return &full
}

// unavailableFor is what is said when Redis is away: nobody knows for how long.
const unavailableFor = time.Second

// problem says what an error means to who asks.
func (c *call) problem(err error) *problem {
	var p *problem
	var wrong *message.InvalidError
	var field *wire.FieldError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &wrong):
		return invalid(fieldName(wrong.Field), wrong.Value, inJSON(wrong.Limit))
	case errors.As(err, &field):
		return &problem{Type: "invalid", Status: http.StatusUnprocessableEntity, Field: shorten(field.Field), Value: shorten(field.Value), Limit: field.Limit, Detail: plain(field)}
	case errors.Is(err, poll.ErrReceipt):
		return invalid("receipt", "another text", "the receipt of a take, whole and unchanged")
	case errors.Is(err, inspector.ErrUnknownTopic), errors.Is(err, poll.ErrUnknownTopic):
		what := plain(err)
		if errors.Is(err, inspector.ErrUnknownTopic) && c.holder != nil && !c.all(c.right) { // the text names others
			if what = "there is no such topic"; c.r.PathValue("topic") != "" {
				what = fmt.Sprintf("there is no topic %q", shorten(c.r.PathValue("topic")))
			}
		}
		return &problem{Type: "unknown-topic", Status: http.StatusNotFound,
			Detail: what + `; a new topic needs a kind, once: {"kind": "priority"}, "range-merge" or "fixed-time", beside the content or the messages of a send, or by PUT /v1/topics/TOPIC`}
	case errors.Is(err, message.ErrTopicConflict), errors.Is(err, poll.ErrZooKeeper), errors.Is(err, inspector.ErrNotWaiting), errors.Is(err, inspector.ErrSeveral):
		return &problem{Type: "conflict", Status: http.StatusConflict, Detail: plain(err)}
	case errors.Is(err, producer.ErrUncertain), errors.Is(err, poll.ErrUncertain):
		return &problem{Type: "unavailable", Status: http.StatusServiceUnavailable, Uncertain: true, Detail: plain(err), after: unavailableFor}
	case errors.Is(err, producer.ErrQueueFull):
		return &problem{Type: "queue-full", Status: http.StatusTooManyRequests, Detail: plain(err), after: unavailableFor}
	case errors.Is(err, poll.ErrTooMany):
		return tooMany(unavailableFor, plain(err))
	case errors.Is(err, message.ErrClosed), c.closing.Err() != nil:
		return &problem{Type: "unavailable", Status: http.StatusServiceUnavailable, Detail: "this gateway is being stopped, and another one answers", after: unavailableFor}
	case redis.HasErrorPrefix(err, "OOM"):
		return &problem{Type: "unavailable", Status: http.StatusServiceUnavailable, Detail: "Redis is full: it needs more memory, or fewer messages: " + plain(err), after: 10 * time.Second}
	case redis.HasErrorPrefix(err, "NOPERM"):
		return &problem{Type: "unavailable", Status: http.StatusServiceUnavailable, Detail: plain(err)}
	case cluster.Unanswered(err), errors.Is(err, context.DeadlineExceeded):
		return &problem{Type: "unavailable", Status: http.StatusServiceUnavailable, Detail: silent(err), after: unavailableFor}
	}
	return &problem{Type: "unavailable", Status: http.StatusServiceUnavailable, Detail: plain(err), after: unavailableFor}
}

// plain is the text of an error, of bounded length. Where servers are is not the affair of who asks: it is in the log.
func plain(err error) string {
	text := lookup.ReplaceAllString(address.ReplaceAllString(err.Error(), "$1: "), "lookup: ")
	return shorten(server.ReplaceAllString(text, "does not answer$1"))
}

// silent is that of an error which says that there is no answer.
func silent(err error) string {
	text := plain(err)
	if strings.Contains(text, "Redis does not answer") {
		return text
	}
	return "Redis does not answer: " + text
}

// Addresses in errors of package net, and of internal/silence.
var (
	server  = regexp.MustCompile(`\bdoes not answer at .+?(: | within )`)
	address = regexp.MustCompile(`\b(dial|read|write) (?:tcp|unix)(?: [^ ]+)?: `)
	lookup  = regexp.MustCompile(`\blookup [^ ]+(?: on [^ ]+)?: `)
)

// longestText is how much of a text of others is said back.
const longestText = 500

func shorten(s string) string { return words.Shorten(s, longestText) }
