package console

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

var ctx = context.Background()

// open serves a console of a Redis with one topic, orders, of 8 slots.
func open(t *testing.T, change func(*Config)) (at string, s *servertest.Server) {
	t.Helper()
	s = servertest.Redis(t)
	p, err := producer.New(s.Client(t), producer.Config{})
	must.Do(t, err)
	_, err = p.Send(ctx, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 8}, message.Priority{Content: "order 1", Priority: 500})
	must.Do(t, err)
	must.Do(t, p.Close(ctx))
	cfg := Config{Redis: s.Client(t)}
	if change != nil {
		change(&cfg)
	}
	c, err := New(cfg)
	must.Do(t, err)
	server := httptest.NewServer(http.StripPrefix("/any/path", c))
	t.Cleanup(server.Close)
	t.Cleanup(c.Close) // first
	return server.URL + "/any/path/", s
}

// get is the status and the text of a page.
func get(t *testing.T, address string) (int, string) {
	t.Helper()
	res, err := http.Get(address)
	must.Do(t, err)
	defer res.Body.Close()
	return res.StatusCode, textOf(t, res.Body)
}

func textOf(t *testing.T, r io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(r)
	must.Do(t, err)
	return string(text)
}

func TestPages(t *testing.T) {
	t.Parallel()
	at, _ := open(t, nil)
	for page, want := range map[string]string{
		"":                         `<a href="topic?topic=orders">orders</a>`,
		"topic?topic=orders":       "priority topic, 8 slots",
		"topic?topic=orders&slot=": "<dt>Waiting</dt><dd>1</dd>",
		"workers":                  "No worker is there",
		"doctor":                   "persistence",
		"console.css":              "--paper",
		"console.js":               "EventSource",
		"icon.svg":                 "<svg",
	} {
		var status int
		var text string
		await.True(t, page+" has "+want, func() bool { // the doctor asks again, where a busy machine answers late
			status, text = get(t, at+page)
			return status != 200 || strings.Contains(text, want)
		})
		if status != 200 {
			t.Errorf("%q: %d: %s", page, status, text)
		}
	}
	for page, status := range map[string]int{"topic?topic=none": 404, "topic": 404, "nowhere": 404, "live?page=doctor": 404, "signin": 404} {
		if got, text := get(t, at+page); got != status || !strings.Contains(text, "<h1>") {
			t.Errorf("%q: %d, not %d: %s", page, got, status, text)
		}
	}
}

// Each answer forbids browsers to do more with it than it needs.
func TestGuard(t *testing.T) {
	t.Parallel()
	at, _ := open(t, nil)
	for _, page := range []string{"", "console.js", "nowhere"} {
		res, err := http.Get(at + page)
		must.Do(t, err)
		res.Body.Close()
		if got := res.Header.Get("Content-Security-Policy"); !strings.Contains(got, "default-src 'none'") || strings.Contains(got, "unsafe") {
			t.Errorf("%q: %q", page, got)
		}
		if res.Header.Get("X-Content-Type-Options") != "nosniff" || res.Header.Get("Referrer-Policy") != "same-origin" {
			t.Errorf("%q: %v", page, res.Header)
		}
	}
}

// A person without a name is refused, and a form of another site is not read.
func TestRefuses(t *testing.T) {
	t.Parallel()
	at, _ := open(t, func(c *Config) { c.Who = func(r *http.Request) string { return r.Header.Get("X-User") } })
	if status, text := get(t, at); status != 403 || !strings.Contains(text, "It is not known who you are") {
		t.Errorf("%d %s", status, text)
	}
	req, err := http.NewRequestWithContext(ctx, "POST", at+"signout", strings.NewReader(url.Values{}.Encode()))
	must.Do(t, err)
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	req.Header.Set("X-User", "ann")
	res, err := http.DefaultClient.Do(req)
	must.Do(t, err)
	res.Body.Close()
	if res.StatusCode != 403 {
		t.Error(res.Status)
	}
}

// z is a member of a sorted set, with a time.
func z(member string, at time.Time) redis.Z {
	return redis.Z{Score: float64(at.UnixMilli()), Member: member}
}
