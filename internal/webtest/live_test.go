package webtest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/webtest/browser"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/server/console"
)

// slow is for what the console reads again: on a busy machine Redis answers slowly, and the console then asks seldom.
var slow = browser.View{Patience: 3 * time.Minute}

// sender only sends: what a test of pages needs where no worker is needed.
func sender(t *testing.T, rdb redis.UniversalClient) func(n int) {
	t.Helper()
	client, err := rmq.New(rmq.Config{Redis: rdb})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, client.Close(ctx)) })
	sent := 0
	return func(n int) {
		t.Helper()
		for range n {
			sent++
			must.Do(t, second(client.Send(ctx, orders, rmq.FixedTime{Content: fmt.Sprintf("order %d", sent), In: time.Hour})))
		}
	}
}

// streamed serves a console and counts its open streams.
type streamed struct {
	*httptest.Server
	open, begun atomic.Int64
}

func newStreamed(t *testing.T, rdb redis.UniversalClient) *streamed {
	t.Helper()
	c, err := console.New(console.Config{Redis: rdb})
	must.Do(t, err)
	s := &streamed{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/live") {
			s.begun.Add(1)
			s.open.Add(1)
			defer s.open.Add(-1)
		}
		c.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { c.Close(); s.Close() })
	return s
}

// mark marks the document that is open. Another document does not have the mark.
func mark(p *browser.Page) { browser.Value[bool](p, "window.marked = true") }

func marked(p *browser.Page) bool { return browser.Value[bool](p, "window.marked === true") }

// Numbers change in a page that is only looked at, and its user loses neither place nor keyboard.
func TestLiveNumbers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, rdb redis.UniversalClient) {
		send := sender(t, rdb)
		send(3)
		srv := newStreamed(t, rdb)
		for n, address := range []string{"/", "/topic?topic=orders"} {
			p := browser.Open(t, slow)
			p.Open(srv.URL + address)
			before := p.Text("#living")
			mark(p)
			browser.Value[bool](p, `(document.querySelector("#living a").focus(), true)`)
			at := browser.Value[string](p, "document.activeElement.href")
			send(1000)
			p.WaitFor("#living", fmt.Sprintf("%d,003", n+1))
			if !marked(p) || browser.Value[string](p, "document.activeElement.href") != at {
				t.Errorf("%s was loaded again, or the focus has moved from %s", address, at)
			}
			if p.Text("#living") == before {
				t.Errorf("%s has not changed", address)
			}
			p.Fine()
		}
	})
}

// No one looks, so nothing is asked for. A tab that comes back shows what is there then.
func TestAHiddenPageAsksForNothing(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	send := sender(t, rdb)
	send(3)
	srv := newStreamed(t, rdb)
	p := browser.Open(t, slow)
	p.Open(srv.URL)
	await.True(t, "the stream is open", func() bool { return srv.open.Load() == 1 })
	mark(p)
	p.Hide()
	await.True(t, "the stream of the hidden page ends", func() bool { return srv.open.Load() == 0 })
	send(39)
	p.Show()
	p.WaitFor("#living", "42")
	if !marked(p) || srv.open.Load() != 1 || srv.begun.Load() != 2 {
		t.Errorf("loaded again: %t; %d streams are open, %d were", !marked(p), srv.open.Load(), srv.begun.Load())
	}

	p.Click("#live") // the user wants it to stand still
	await.True(t, "the stream of the page that stands still ends", func() bool { return srv.open.Load() == 0 })
	p.Hide()
	p.Show()
	p.Click("#live")
	await.True(t, "the stream is open again", func() bool { return srv.open.Load() == 1 })
	if n := srv.begun.Load(); n != 3 {
		t.Errorf("%d streams: one was open while the page stood still", n)
	}
	p.Open(srv.URL + "/doctor") // leaves it
	await.True(t, "the stream of the page that was left ends", func() bool { return srv.open.Load() == 0 })
	p.Fine()
}

// While Redis is away the page says so and shows what it knew, and by itself goes on when Redis is back.
func TestRedisGoesAndComesBack(t *testing.T) {
	t.Parallel()
	redisServer := servertest.Redis(t, "--appendonly", "yes")
	rdb := redisServer.Client(t)
	send := sender(t, rdb)
	send(3)
	srv := newStreamed(t, rdb)
	p := browser.Open(t, slow)
	p.Open(srv.URL)
	p.WaitFor("#living", "orders")
	mark(p)
	redisServer.Kill()
	p.WaitFor(`#living [role=alert]`, "")
	p.WaitFor("#living", "orders") // what was known
	redisServer.Restart(t)
	p.WaitGone(`#living [role=alert]`, "")
	send(39)
	p.WaitFor("#living", "42")
	if !marked(p) {
		t.Error("the page was loaded again")
	}
	p.Fine()

	redisServer.Kill() // a page that is opened meanwhile says why it is empty
	q := browser.Open(t, slow)
	q.Open(srv.URL + "/doctor")
	q.WaitFor("body", "Redis")
	redisServer.Restart(t)
}

// While the console is away its pages say so, and by themselves go on when it is back.
func TestTheConsoleGoesAndComesBack(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	send := sender(t, rdb)
	send(3)
	c, err := console.New(console.Config{Redis: rdb})
	must.Do(t, err)
	srv, at := httptest.NewUnstartedServer(c), servertest.Nobody(t)
	must.Do(t, srv.Listener.Close())
	srv.Listener = listenAt(t, at)
	srv.Start()
	p := browser.Open(t, slow)
	p.Open(srv.URL)
	p.WaitFor("#living", "orders")
	mark(p)
	must.Do(t, srv.Listener.Close()) // first: the page comes back at once
	srv.CloseClientConnections()
	srv.Close()
	p.WaitFor("#cut", "The console does not answer")
	send(39)
	srv = httptest.NewUnstartedServer(c)
	must.Do(t, srv.Listener.Close())
	srv.Listener = listenAt(t, at)
	srv.Start()
	t.Cleanup(func() { c.Close(); srv.Close() })
	p.WaitGone("#cut", "")
	p.WaitFor("#living", "42")
	if !marked(p) {
		t.Error("the page was loaded again")
	}
	for _, fault := range p.Faults() { // the browser reports each try
		if !strings.Contains(fault, "/live") && !strings.Contains(fault, "ERR_CONNECTION_REFUSED") {
			t.Error(fault)
		}
	}
}
