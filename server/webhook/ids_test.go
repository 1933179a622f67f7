package webhook

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// A target sees one id for all tries of a message, whether it fails or asks for patience, and another one when the message is
// sent again.
func TestTargetsSeeOneIDForAllTries(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		switch asked.Add(1) % 4 {
		case 1:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2, 3:
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	o := open(t, r.URL, oneSlot)
	var ids []string
	for n := 1; n <= 2; n++ {
		o.send(t, "order 4711")
		for range 4 {
			ids = append(ids, r.next(t).Get("Webhook-Id"))
		}
		o.await(t, message.Done, n)
	}
	if first, second := slices.Compact(ids[:4:4]), slices.Compact(ids[4:]); len(first) != 1 || len(second) != 1 || first[0] == second[0] {
		t.Errorf("the ids are %q and then %q", first, second)
	}
}

// A worker that takes over a message goes on with its id, while the one before still waits for
// an answer.
func TestTakeOverHasTheSameID(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	var asked atomic.Int64
	r := receive(t, func(_ http.ResponseWriter, q *http.Request) {
		if asked.Add(1) == 1 {
			<-hold
		}
	})
	proxy := servertest.NewProxy(t, servertest.SharedRedis(t).Addr())
	o := prepare(t, r.URL, oneSlot, func(c *Config) { c.Client.Redis, c.Client.Lease = proxy.Client(t), 5*time.Second })
	o.start(t)
	o.send(t, "order 4711")
	first := r.next(t)
	proxy.Freeze()
	config := o.config
	config.Client.Redis = o.rdb
	other, err := New(config)
	must.Do(t, err)
	must.Do(t, other.Start(ctx))
	second := r.next(t)
	if second.Get("Rmq-Attempt") != "2" || second.Get("Webhook-Id") != first.Get("Webhook-Id") {
		t.Errorf("attempt %s has %s, and the one before %s", second.Get("Rmq-Attempt"), second.Get("Webhook-Id"), first.Get("Webhook-Id"))
	}
	o.await(t, message.Done, 1)
	must.Do(t, other.Close(await.CleanupContext(t)))
	close(hold)
	proxy.Thaw()
}

// What is sent again while it runs is a new message, with an id of its own; also when Close cuts off the one that runs.
func TestSentAgainWhileItRuns(t *testing.T) {
	t.Parallel()
	for _, cut := range []bool{false, true} {
		hold := make(chan struct{})
		r := receive(t, func(_ http.ResponseWriter, q *http.Request) {
			select {
			case <-hold:
			case <-q.Context().Done():
			}
		})
		o := open(t, r.URL, oneSlot)
		o.send(t, "order 4711")
		first := r.next(t)
		o.send(t, "order 4711")
		if cut {
			over, cancel := context.WithCancel(ctx)
			cancel()
			_ = o.Close(over)
			o.await(t, message.HandedBack, 1)
			close(hold)
			o.start(t)
		} else {
			close(hold)
		}
		if second := r.next(t); second.Get("Rmq-Attempt") != "1" || second.Get("Webhook-Id") == first.Get("Webhook-Id") {
			t.Errorf("cut off %v: attempt %s has %s, as the one before", cut, second.Get("Rmq-Attempt"), second.Get("Webhook-Id"))
		}
	}
}

// marked is a line of docs/DEPLOYMENT.md behind a marker.
func marked(t *testing.T, marker string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/DEPLOYMENT.md")
	must.Do(t, err)
	_, rest, found := strings.Cut(string(text), marker)
	line, _, _ := strings.Cut(rest, "\n")
	if !found || line == "" {
		t.Fatalf("docs/DEPLOYMENT.md has no %q", marker)
	}
	return strings.Fields(strings.TrimSuffix(line, "-->"))
}

// With the rights of a worker and the one that docs/DEPLOYMENT.md names for pushing, messages are pushed; without that one Start
// says what is missing.
func TestRightsForPushing(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	worker, more := marked(t, "<!-- acl:worker -->\n```\nACL SETUSER orders on >secret "), marked(t, "<!-- acl:pushes ")
	as := func(rights []string) *redis.Client {
		args := []any{"acl", "setuser", "orders", "reset", "on", ">secret"}
		for _, right := range rights {
			args = append(args, right)
		}
		must.Do(t, server.Client(t).Do(ctx, args...).Err())
		return server.Client(t, func(o *redis.Options) { o.Username, o.Password, o.DisableIdentity = "orders", "secret", true })
	}
	var asked atomic.Int64
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	o := prepare(t, r.URL, func(c *Config) { c.Targets[0].Topic.Name = "orders" })
	for _, c := range []struct {
		rights []string
		says   string
	}{{worker, "webhook: rights to the webhook-ids of topic orders: NOPERM"}, {append(worker, more...), ""}} {
		o.config.Client.Redis = as(c.rights)
		push, err := New(o.config)
		must.Do(t, err)
		err = push.Start(ctx)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want %q", err, c.says)
		}
		if err == nil {
			o.rdb, o.sender = server.Client(t), senderOn(t, server.Client(t))
			o.send(t, "order 4711", "order 4712")
			verify(t, r.next(t), secret)
			o.await(t, message.Done, 2)
		}
		must.Do(t, push.Close(await.CleanupContext(t)))
	}
	if log, err := server.Client(t).Do(ctx, "acl", "log").Slice(); err != nil || len(log) != 1 { // the one that was tried
		t.Errorf("refused: %v %v", log, err)
	}
}

// What a target has read from a connection that was kept may have been handled, though the request is repeated by another
// connection that it refuses: so it does not count as surely not handled. What met no connection at all does.
func TestRepeatedRequestMayHaveBeenHandled(t *testing.T) {
	t.Parallel()
	x, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	served := make(chan error, 1)
	go func() {
		c, err := x.Accept()
		if err == nil {
			from := bufio.NewReader(c)
			for _, answer := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""} {
				q, failed := http.ReadRequest(from)
				if failed != nil {
					err = failed
					break
				}
				_, _ = io.Copy(io.Discard, q.Body)
				if answer == "" {
					x.Close()
				}
				_, _ = io.WriteString(c, answer)
			}
			c.Close()
		}
		served <- err
	}()
	l, _ := listenerTo(t, "http://"+x.Addr().String())
	became(t, l, message.Done)
	if back, err := l.try(ctx, delivery("order 4711"), "id"); back || err == nil {
		t.Errorf("it surely was not handled: %v, %v", back, err)
	}
	must.Do(t, await.Signal(t, "the target has read it", served))
	if back, err := l.try(ctx, delivery("order 4712"), "id"); !back || err == nil {
		t.Errorf("it met no connection, and may have been handled: %v, %v", back, err)
	}
}
