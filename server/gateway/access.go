package gateway

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
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

// check finds out who asks, and whether they may.
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
		return problem.NotNow("too-many", wait, "the token %q may make %v requests a second", c.holder.Name, a.rate)
	}
	if topic := c.topic(); topic != "" {
		return c.may(topic)
	}
	if !c.holder.Has(c.right) {
		return c.forbidden("")
	}
	return nil
}

// sees reports whether the holder has the right at a topic.
func (c *call) sees(topic string) bool { return c.holder.May(c.right, topic) }

// may is an error if the holder has no right to do it to a topic.
func (c *call) may(topic string) error {
	if c.sees(topic) {
		return nil
	}
	return c.forbidden(topic)
}

// all reports whether the holder has the right at all topics.
func (c *call) all() bool { return c.holder.Has(c.right) && slices.Contains(c.holder.Topics, "*") }

// mayAll is an error unless all is true: the request cannot be divided by topics.
func (c *call) mayAll(what string) error {
	if c.all() {
		return nil
	}
	return problem.New("forbidden", `%s is for tokens with the right %s at all topics, ["*"]: the token "%s" has it not`, what, c.right, c.holder.Name)
}

func (c *call) forbidden(topic string) *problem.Problem {
	at := ""
	if topic != "" {
		at = fmt.Sprintf(" at topic %q", problem.Shorten(topic))
	}
	return problem.New("forbidden", "the token %q lacks the right %q%s: add it to the file of tokens, and send SIGHUP to rmqd", c.holder.Name, c.right, at)
}

// unauthorized does not say whether there was a token.
var unauthorized = problem.New("unauthorized", "send the header Authorization: Bearer TOKEN, with a token whose hash is in the file of tokens")

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

// browsers recognises requests that a page of another site makes a browser send.
var browsers http.CrossOriginProtection

// ofOtherSites reports whether it is such a request, which must change nothing. Without tokens, any page that a person
// on this machine opens could send it. Programs do not say where they come from, and pass.
func ofOtherSites(r *http.Request) bool {
	asked := *r
	if asked.Method == http.MethodGet { // which browsers do not expect to change anything
		asked.Method = http.MethodPost
	}
	return browsers.Check(&asked) != nil
}

// RefuseOtherHost answers a request that names another host than those that the gateway has, and says why.
func RefuseOtherHost(w http.ResponseWriter, why string) {
	problem.New("other-host", "%s", why).Write(w)
}
