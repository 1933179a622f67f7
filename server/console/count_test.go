package console

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/server/console/internal/jobs"
)

// Dead messages that are too many to count in time can be requeued all the same, and are not deleted by a number that no one
// knows.
func TestTooManyToCount(t *testing.T) {
	t.Parallel()
	const many = 20_000
	s := servertest.Redis(t)
	sendTo(t, s, "orders", "order 1")
	k := protocol.KeysOf("orders", 1)
	_, err := s.Client(t).Pipelined(ctx, func(p redis.Pipeliner) error {
		for n := range many {
			p.ZAdd(ctx, k.Dead, z(fmt.Sprint("order ", n), time.Now().Add(-time.Hour)))
			p.HSet(ctx, k.Why, fmt.Sprint("order ", n), "17 1700000000000 1700000000000 50 w it failed")
		}
		return nil
	})
	must.Do(t, err)
	way := servertest.NewProxy(t, s.Addr())
	c, err := New(Config{Redis: way.Client(t), Act: true})
	must.Do(t, err)
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	t.Cleanup(c.Close) // first
	at := server.URL + "/"
	about := url.Values{"topic": {"orders"}, "reason": {"failed"}}

	way.Delay(50 * time.Millisecond) // so that all of them take seconds
	var text string
	c.countWithin = 50 * time.Millisecond
	for !strings.Contains(text, "Requeue at least ") { // which it is not before the first were counted
		c.countWithin *= 2
		if _, text = get(t, at+"requeue?"+about.Encode()); strings.Contains(text, "Requeue 20,000 ") {
			t.Fatalf("all are counted within %v", c.countWithin)
		}
	}
	post := func(path string, fields url.Values, want string) {
		t.Helper()
		for {
			res, err := http.PostForm(at+path, fields)
			must.Do(t, err)
			text := textOf(t, res.Body)
			if strings.Contains(text, want) {
				return
			}
			if !strings.Contains(text, "did not answer in time") { // which is so as long as none were counted
				t.Fatal(text)
			}
			c.countWithin *= 2
		}
	}
	post("delete", url.Values{"number": {fmt.Sprint(many)}, "key": {jobs.NewKey()}, "topic": {"orders"}, "reason": {"failed"}}, "They are too many to count in time")
	post("requeue", fieldsIn(text), "of at least ")
	way.Delay(0)
	await.True(t, "all are requeued", func() bool { return s.Client(t).ZCard(ctx, k.Dead).Val() == 0 })
}
