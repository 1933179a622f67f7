package fleet

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// In a Cluster, the answer of any master counts, and a master that hangs holds up none of the
// others. No answer counts only if none of them gives one. A refusal is an answer.
func TestWhatIsAnAnswer(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 3, 0, "--cluster-node-timeout", "600000")
	one := servertest.Redis(t)
	refused := one.Client(t, func(o *redis.Options) { o.Password = "wrong"; o.Username = "stranger" })
	closed := one.Client(t)
	closed.Close()
	answered := func(rdb redis.UniversalClient) bool {
		t.Helper()
		a := &answers{parts: &parts{Config: Config{Redis: rdb, Life: lifetime.New()}}, begun: time.Now().Add(-time.Hour)}
		defer a.Life.End(nil)
		a.ask()
		return time.Duration(a.last.Load()) > time.Hour
	}
	want := func(what string, rdb redis.UniversalClient, is bool) {
		t.Helper()
		got := answered(rdb)
		for range 30 { // a busy machine may take longer than one question waits
			if got || !is {
				break
			}
			got = answered(rdb)
		}
		if got != is {
			t.Errorf("%s: answered is %t", what, !is)
		}
	}
	want("one server", one.Client(t), true)
	want("a server that refuses", refused, true)
	want("a client that was closed", closed, false)
	rdb := c.Client(t)
	want("all masters", rdb, true)
	for i, s := range c.Nodes() {
		s.Pause()
		want("masters that hang", rdb, i < 2)
	}
	for _, s := range c.Nodes() {
		s.Resume()
	}
	one.Pause()
	want("a server that hangs", one.Client(t), false)
	one.Resume()

	loads := servertest.Redis(t, "--key-load-delay", "10000", "--loading-process-events-interval-bytes", "1024")
	filled := loads.Client(t, func(o *redis.Options) { o.MaxRetries = -1 })
	for n := range 400 {
		must.Do(t, filled.Set(t.Context(), fmt.Sprint("filler", n), make([]byte, 2048), 0).Err())
	}
	must.Do(t, filled.Save(t.Context()).Err())
	restarted := make(chan struct{})
	t.Cleanup(func() { <-restarted })                        // also behind a failure
	go func() { defer close(restarted); loads.Restart(t) }() // returns when all is loaded
	loading := func() bool { return cluster.NotReady(filled.Ping(t.Context()).Err()) }
	await.True(t, "it loads", loading)
	if answered(loads.Client(t, func(o *redis.Options) { o.MaxRetries = -1 })) && loading() {
		t.Error("a server that loads its data has answered")
	}
}
