package webtest

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/webtest/browser"
)

// awaitRun waits until the worker has said that the handler of stuck has run for long.
func (s *scene) awaitRun() {
	s.t.Helper()
	await.True(s.t, "a handler is seen to run for long", func() bool {
		workers, err := s.inspector.Workers(ctx)
		must.Do(s.t, err)
		return len(workers) == 1 && len(workers[0].Running) == 1
	})
}

// Who looks sees which message a handler has had for long, and which workers vanished.
func TestWhoWorks(t *testing.T) {
	t.Parallel()
	s := newScene(t, servertest.Redis(t).Client(t))
	gone := func(worker string, ago time.Duration) {
		t.Helper()
		must.Do(t, s.rdb.ZAdd(ctx, protocol.GoneKey(orders.Name), redis.Z{Score: float64(time.Now().Add(-ago).UnixMilli()), Member: worker}).Err())
	}
	gone("app8-1-2", 3*time.Hour)
	s.awaitRun()
	at := s.console()
	p := browser.Open(t, browser.View{})
	for _, page := range []string{"workers", "topic?topic=orders"} {
		p.Open(at + page)
		p.WaitFor("main", "app8-1-2")
		p.WaitFor("main", "about 3h ago")
		p.WaitFor("main", "Handlers that run for long")
		p.Follow("[aria-label='Handlers that run for long'] a")
		p.WaitFor("main", "has run it for")
		p.Fine()
	}
	p.Open(at + "topic?topic=prices")
	if text := p.Text("main"); strings.Contains(text, "app8") || strings.Contains(text, "Handlers that run") {
		t.Errorf("another topic says %q", text)
	}
}

// A page says how many sends merge into a message, where that is known.
func TestSendsPerMessage(t *testing.T) {
	t.Parallel()
	s := newScene(t, servertest.Redis(t).Client(t))
	p := browser.Open(t, browser.View{})
	for topic, says := range map[string]string{
		prices.Name: "3 sends in the 1 message looked at.",
		mail.Name:   "", // of what has a priority, few want to know
	} {
		p.Open(s.console() + "topic?topic=" + topic)
		p.WaitFor("main", says)
		if has := strings.Contains(p.Text("main"), "ends per message"); has != (topic == prices.Name) {
			t.Errorf("%s: %q", topic, p.Text("main"))
		}
	}
	p.Open(s.console() + "topic?topic=prices")
	p.WaitFor(".sums", "3.0")
}
