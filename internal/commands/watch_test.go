package commands

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// watcher calls enough when it was written what was expected so many times.
type watcher struct {
	bytes.Buffer
	what   string
	times  int
	enough func()
}

func (w *watcher) Write(b []byte) (int, error) {
	n, err := w.Buffer.Write(b)
	if strings.Count(w.String(), w.what) >= w.times {
		w.enough()
	}
	return n, err
}

// Watching goes on until a signal ends it, which is no failure; nor is a Redis that is away
// for a while.
func TestWatch(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	send(t, server.Client(t), rangeMerge("orders"), later("x"))
	watch := func(w *watcher, errs *watcher, flags ...string) int {
		watching, cancel := context.WithCancel(await.Context(t))
		defer cancel()
		for _, of := range []*watcher{w, errs} {
			if of.enough == nil {
				of.enough = cancel
			}
		}
		return program.Run(watching, append([]string{"--redis", "redis://" + server.Addr(), "stats", "--watch=100ms"}, flags...), strings.NewReader(""), w, errs)
	}
	for _, c := range []struct {
		flags []string
		what  string
	}{{nil, "TOPIC "}, {[]string{"--json"}, `{"topic":"orders"`}, {[]string{"orders", "--slots"}, "TOPIC "}} {
		out, errs := &watcher{what: c.what, times: 3}, &watcher{what: "\n", times: 1 << 30, enough: func() {}}
		if code := watch(out, errs, c.flags...); code != 0 || errs.Len() > 0 || strings.Count(out.String(), c.what) < 3 {
			t.Errorf("%q: %d\n%s%s", c.flags, code, out, errs)
		}
	}

	// A topic whose definition cannot be read does not hide the others.
	must.Do(t, server.Client(t).SAdd(ctx, protocol.TopicsKey, "strange").Err())
	out, errs := &watcher{what: "orders", times: 3}, &watcher{what: "\n", times: 1 << 30, enough: func() {}}
	if code := watch(out, errs); code != 0 || !strings.Contains(errs.String(), "rmq: strange has no definition that can be read") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}

	// After the first look Redis goes away, and the watcher says so and stays.
	out, errs = &watcher{what: "orders", times: 1, enough: sync.OnceFunc(server.Kill)}, &watcher{what: "rmq: ", times: 2}
	if code := watch(out, errs); code != 0 || strings.Count(errs.String(), "rmq: ") < 2 || !strings.Contains(errs.String(), "is Redis running?") {
		t.Errorf("%d\n%s%s", code, out, errs)
	}
	wantFailure(t, []string{"--redis", "redis://" + server.Addr(), "stats", "--watch"}, 1, "does not answer")
}

// A forgotten = is an error that says so.
func TestWatchWithoutEquals(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	wantFailure(t, []string{"--redis", "redis://" + server.Addr(), "stats", "--watch", "5s"}, 2, "write --watch=5s")
}
