package away

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// logged is a Log, and its lines.
func logged() (*Log, *observer.ObservedLogs) {
	core, lines := observer.New(zap.DebugLevel)
	return In(zap.New(core)), lines
}

// watcher returns a Watch, what waits for its looks, and ends them with the test.
func watcher(t *testing.T, log *Log, rdb redis.UniversalClient) (w *Watch, looked *sync.WaitGroup) {
	ctx, cancel := context.WithCancel(context.Background())
	looked = &sync.WaitGroup{}
	t.Cleanup(func() {
		cancel()
		looked.Wait()
	})
	return &Watch{Log: log, Redis: rdb, Ctx: ctx, Go: func(look func()) bool {
		looked.Go(look)
		return true
	}}, looked
}

// logs returns when there are so many lines.
func logs(t *testing.T, log *Log, lines *observer.ObservedLogs, n int) {
	t.Helper()
	await.True(t, fmt.Sprint(n, " lines"), func() bool {
		log.Flush(context.Background())
		return lines.Len() >= n
	})
}

// wantLines fails unless these lines, and no others, are in the log.
func wantLines(t *testing.T, log *Log, lines *observer.ObservedLogs, want ...string) {
	t.Helper()
	log.Flush(context.Background())
	var got []string
	for _, l := range lines.All() {
		got = append(got, l.Message)
		if l.Level != zapcore.WarnLevel {
			t.Errorf("%q is at %v", l.Message, l.Level)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the log says %q, want %q", got, want)
	}
}

// A reply that got lost, from a server that is there, is not logged, however often it happens;
// and what is an answer, or comes from a client that was closed, is no reason to look.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	log, lines := logged()
	log.after = time.Hour // it is stalled now and then, and away never
	w, looked := watcher(t, log, rdb)
	for range 50 {
		if w.Doubt("store{x_0}", io.EOF) {
			t.Fatal("it is logged as away")
		}
	}
	looked.Wait()
	if w.Doubt("store{x_0}", redis.Nil) || w.Doubt("store{x_0}", nil) || len(log.servers) > 0 {
		t.Error("an answer is taken for none")
	}
	if w.Level("store{x_0}", redis.Nil) != zap.WarnLevel || w.Level("store{x_0}", io.EOF) != zap.DebugLevel {
		t.Error("the levels are wrong")
	}
	looked.Wait()
	closed := servertest.SharedRedis(t).Client(t)
	closed.Close()
	w, looked = watcher(t, log, closed)
	w.Doubt("store{x_0}", io.EOF)
	looked.Wait() // it looks no more
	wantLines(t, log, lines)
}

// A server that comes back in time was asked more than once, and nothing is logged about it.
func TestBackInTime(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	log, lines := logged()
	log.after = time.Hour
	asked := make(chan struct{}, 100)
	w, looked := watcher(t, log, server.Client(t, func(o *redis.Options) {
		o.MaxRetries, o.DialerRetries = -1, 1
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			select {
			case asked <- struct{}{}:
			default:
			}
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
	}))
	server.Kill()
	w.Doubt("store{x_0}", io.EOF)
	for range 3 {
		await.Signal(t, "the server is asked again", asked)
	}
	server.Restart(t)
	looked.Wait()
	wantLines(t, log, lines)
}

// A server is killed and restarted, twice. Whatever notices, and however often, the log says it
// once each time, and once that it answers again.
func TestKilledAndRestarted(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	log, lines := logged()
	shared := Share(log.Logger)
	if In(shared) == log || In(shared) != In(shared) {
		t.Fatal("a Log is shared that was not, or is not shared")
	}
	w, looked := watcher(t, log, server.Client(t))
	other, otherLooked := watcher(t, log, server.Client(t))
	var want []string
	for range 2 {
		server.Kill()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				for range 20 {
					w.Doubt("store{x_0}", io.EOF)
					other.Doubt("store{x_1}", io.EOF)
				}
			})
		}
		all.Wait()
		want = append(want, "Redis is away", "Redis answers again")
		logs(t, log, lines, len(want)-1)
		if !w.Doubt("store{x_0}", io.EOF) || !other.DoubtAt("", "store{x_1}", io.EOF) {
			t.Error("it is not known that it was logged")
		}
		server.Restart(t)
		looked.Wait()
		otherLooked.Wait()
		if len(log.servers) > 0 {
			t.Errorf("kept: %v", log.servers)
		}
	}
	wantLines(t, log, lines, want...)
	if l := lines.All()[0].ContextMap(); l["server"] != server.Addr() || l["error"] == nil {
		t.Errorf("the fields are %v", l)
	}
}

// A server hangs, which breaks no connection, and comes back.
func TestHangs(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb := server.Client(t)
	if err := rdb.Ping(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
	log, lines := logged()
	w, looked := watcher(t, log, rdb)
	server.Pause()
	w.Doubt("store{x_0}", context.DeadlineExceeded)
	logs(t, log, lines, 1)
	server.Resume()
	looked.Wait()
	wantLines(t, log, lines, "Redis is away", "Redis answers again")
}

// One master of a Cluster is killed and never comes back. It is away, by its name, and
// "answers again" when another has its place, which is named, too. The other masters are not
// meant.
func TestMasterOfACluster(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 3, 1)
	rdb := c.Client(t)
	log, lines := logged()
	w, looked := watcher(t, log, rdb)
	const key = "store{x_0}"
	master := c.MasterOf(t, key)
	_, addr, err := cluster.MasterFor(w.Ctx, rdb, key)
	if err != nil || addr != master.Addr() {
		t.Fatalf("the master is %s, by the client %s (%v)", master.Addr(), addr, err)
	}
	replace := func(no string) {
		for _, s := range c.Nodes() {
			if err := s.Client(t).ConfigSet(w.Ctx, "cluster-replica-no-failover", no).Err(); err != nil && s != master {
				t.Fatal(err)
			}
		}
	}
	replace("yes")
	master.Kill()
	w.DoubtAt(addr, key, io.EOF)
	for slot := 1; ; slot++ { // the others answer
		other := fmt.Sprintf("store{x_%d}", slot)
		if c.MasterOf(t, other) != master {
			w.Doubt(other, io.EOF)
			break
		}
	}
	logs(t, log, lines, 1)
	replace("no")
	looked.Wait()
	successor := c.MasterOf(t, key).Addr()
	wantLines(t, log, lines, "Redis is away", "Redis answers again")
	away, again := lines.All()[0].ContextMap(), lines.All()[1].ContextMap()
	if away["server"] != addr || again["server"] != addr || again["in its place"] != successor {
		t.Errorf("killed %s, replaced by %s; said %v and %v", addr, successor, away, again)
	}
}

// A server that does not come back is logged as away once, as long as it is watched.
func TestNeverBack(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	log, lines := logged()
	w, looked := watcher(t, log, server.Client(t))
	ctx, cancel := context.WithCancel(w.Ctx)
	w.Ctx = ctx
	server.Kill()
	w.Doubt("store{x_0}", io.EOF)
	logs(t, log, lines, 1)
	cancel()
	looked.Wait()
	w.Doubt("store{x_0}", io.EOF) // after its end it asks no more
	looked.Wait()
	other, otherLooked := watcher(t, log, server.Client(t)) // of the same log
	if !other.Doubt("store{x_0}", io.EOF) {
		t.Error("it is not known that it is away")
	}
	server.Restart(t)
	otherLooked.Wait()
	wantLines(t, log, lines, "Redis is away", "Redis answers again")
}
