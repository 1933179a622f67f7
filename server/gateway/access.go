package gateway

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/server/tokens"
)

// access is who may ask, and how often.
type access struct {
	file *tokens.File
	rate float64

	mu      sync.Mutex
	buckets map[string]*bucket // by the name of the holder
}

// bucket has a token for each request that may be made now.
type bucket struct {
	tokens float64
	at     time.Time
}

func newAccess(cfg Config) *access {
	return &access{file: cfg.Tokens, rate: cfg.RequestsPerSecond, buckets: map[string]*bucket{}}
}

// check finds out who asks, and whether that one may.
func (a *access) check(c *call) error {
	if c.right == "" {
		return nil
	}
	c.holder = tokens.Anyone
	if a.file != nil {
		scheme, token, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
		if c.holder = nil; strings.EqualFold(scheme, "Bearer") {
			c.holder = a.file.Find(strings.TrimSpace(token))
		}
		if c.holder == nil {
			c.w.Header().Set("WWW-Authenticate", `Bearer realm="rmq"`)
			return unauthorized
		}
	}
	if wait := a.wait(c.holder.Name, time.Now()); wait > 0 {
		return tooMany(wait, fmt.Sprintf("the token %q may make %v requests a second", c.holder.Name, a.rate))
	}
	if topic := c.r.PathValue("topic"); topic != "" {
		return c.may(topic)
	}
	if !c.holder.Has(c.right) {
		return c.forbidden("")
	}
	return nil
}

// may is an error if who asks may not do it to a topic.
func (c *call) may(topic string) error {
	if c.holder.May(c.right, topic) {
		return nil
	}
	return c.forbidden(topic)
}

func (c *call) forbidden(topic string) error {
	at := ""
	if topic != "" {
		at = fmt.Sprintf(" at topic %q", shorten(topic))
	}
	return &problem{Type: "forbidden", Status: http.StatusForbidden,
		Detail: fmt.Sprintf("the token %q lacks the right %q%s: add it to the file of tokens, and send SIGHUP to rmqd", c.holder.Name, c.right, at)}
}

// unauthorized does not say whether there was a token.
var unauthorized = &problem{Type: "unauthorized", Status: http.StatusUnauthorized,
	Detail: "send the header Authorization: Bearer TOKEN, with a token whose hash is in the file of tokens"}

// wait is how long a holder has to wait until it may ask; 0: it may.
func (a *access) wait(name string, now time.Time) time.Duration {
	if a.rate == 0 {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	most := max(1, 2*a.rate)
	b := a.buckets[name]
	if b == nil {
		b = &bucket{most, now}
		a.buckets[name] = b
	}
	b.tokens = min(most, b.tokens+a.rate*max(0, now.Sub(b.at).Seconds()))
	b.at = now
	if b.tokens < 1 {
		return time.Duration(math.Ceil((1 - b.tokens) / a.rate * float64(time.Second)))
	}
	b.tokens--
	return 0
}
