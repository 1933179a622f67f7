package commands

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// People see which message of a batch the handler has, and for how long.
func TestLongRunsAreShown(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	atRest(t, s.rdb, message.KindFixedTime)
	k, key := protocol.KeysOf("orders", 0), protocol.RunningKey("orders")
	must.Do(t, s.rdb.ZAdd(ctx, k.Prepare, redis.Z{Score: float64(time.Now().Unix()*1000 + 16), Member: "beside"}).Err())
	note := func(timeout time.Duration, contents ...string) {
		t.Helper()
		r := protocol.Running{Worker: "app7-1-2", Since: time.Now().Add(-130 * time.Second), Timeout: timeout, Fence: 3}
		r.NoteContents(contents)
		must.Do(t, s.rdb.Del(ctx, key).Err())
		must.Do(t, s.rdb.ZAdd(ctx, key, redis.Z{Score: float64(time.Now().Add(time.Minute).UnixMilli()), Member: r.String()}).Err())
	}
	about := regexp.MustCompile(`2m[1-5]\ds`) // it goes on while it is looked for
	span := func(out string) string { return about.ReplaceAllString(flat(out), "2m10s") }
	shows := func(words string, args ...string) {
		t.Helper()
		if out := span(s.text(t, args...)); !strings.Contains(out, words) {
			t.Errorf("%q is not in %s", words, out)
		}
	}
	note(time.Hour, "busy")
	shows("handler has run it for 2m10s ", "explain", "orders", "busy")
	shows("handler has run another one of the batch, busy, for 2m10s ", "explain", "orders", "beside")
	shows("a handler of app7-1-2 has run busy, slot 0 of orders, for 2m10s ", "workers")
	if o := s.objects(t, "workers")[0]["running"].([]any)[0].(map[string]any); o["content"] != "busy" || o["timeout_ms"] != 3.6e6 || o["worker"] != "app7-1-2" || o["since"] == "" {
		t.Errorf("%v", o)
	}
	flight := s.objects(t, "explain", "orders", "beside")[0]["in_flight"].(map[string]any)
	if r := flight["running"].(map[string]any); r["content"] != "busy" || flight["runs"] != nil {
		t.Errorf("%v", flight)
	}
	flight = s.objects(t, "explain", "orders", "busy", "--base64=false")[0]["in_flight"].(map[string]any)
	if flight["runs"] != true {
		t.Errorf("%v", flight)
	}

	note(30*time.Second, "busy", "beside")
	shows("handler has run it, and 1 more of the batch, for 2m10s, longer than its Timeout, 30s ", "explain", "orders", "beside")
	shows("has run busy and 1 more, slot 0 of orders, for 2m10s, longer than its Timeout, 30s ", "workers")
	if r := s.call(t, "doctor"); !strings.Contains(span(r.out), `a handler of worker app7-1-2 has run "busy" and 1 more for 2m10s; its Timeout, 30s, is over`) {
		t.Errorf("%+v", r)
	}
	note(30*time.Second, strings.Split("busy and others", " ")...)
	shows("handler has run busy, and 2 more of the batch, for 2m10s, longer", "explain", "orders", "beside")

	// Many are counted.
	for n := range 14 {
		r := protocol.Running{Slot: n, Worker: "app7-1-2", Since: time.Now().Add(-time.Minute), Timeout: time.Hour}
		r.NoteContents([]string{fmt.Sprint(n)})
		must.Do(t, s.rdb.ZAdd(ctx, key, redis.Z{Score: float64(time.Now().Add(time.Minute).UnixMilli()), Member: r.String()}).Err())
	}
	shows("and 5 handlers for less ", "workers")

	// A worker that is not listed any more, and one of its handlers that goes on.
	must.Do(t, s.rdb.Del(ctx, key, protocol.WorkersKey("orders")).Err())
	note(time.Hour, "busy")
	shows("app7-1-2 orders 0 not listed ", "workers")
	shows("a handler of app7-1-2 has run busy, slot 0 of orders, for 2m10s ", "workers")
	if o := s.objects(t, "workers")[0]; o["unlisted"] != true || len(o["running"].([]any)) != 1 {
		t.Errorf("%v", o)
	}
}
