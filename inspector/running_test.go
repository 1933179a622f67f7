package inspector

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// runs makes a topic of one slot with a batch of "runs" and "beside" in flight at worker w1, whose handler has run the first for ago.
func runs(t testing.TB, rdb redis.UniversalClient, name string, ago, timeout time.Duration) {
	t.Helper()
	define(t, rdb, message.Topic{Name: name, Kind: message.KindFixedTime, Slots: 1})
	must.Do(t, rdb.HSet(ctx, protocol.DefinitionKey(name), "sharing", "redis").Err())
	k, now := protocol.KeysOf(name, 0), time.Now()
	zadd(t, rdb, protocol.WorkersKey(name), "w1", now.Add(time.Hour).UnixMilli())
	must.Do(t, rdb.HSet(ctx, k.Meta, "holder", "w1", "batch", 77, "lease", 30_000, "until", now.Add(time.Minute).UnixMilli()).Err())
	for _, content := range []string{"runs", "beside"} {
		zadd(t, rdb, k.Prepare, content, now.Add(-time.Hour).Unix()*1000+16)
	}
	zadd(t, rdb, k.Store, "behind", now.Add(-time.Minute).UnixMilli())
	noteRun(t, rdb, name, protocol.Running{Worker: "w1", Since: now.Add(-ago), Timeout: timeout, Fence: 77}, "runs")
}

func noteRun(t testing.TB, rdb redis.UniversalClient, name string, r protocol.Running, contents ...string) {
	t.Helper()
	r.NoteContents(contents)
	zadd(t, rdb, protocol.RunningKey(name), r.String(), time.Now().Add(time.Minute).UnixMilli())
}

// It is told which message of a batch the handler has, to who asks for that one, for another one of the batch, and for one
// behind it.
func TestRunning(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		runs(t, rdb, "orders", 130*time.Second, time.Hour)
		for content, it := range map[string]bool{"runs": true, "beside": false} {
			f := explain(t, i, "orders", content).Flight
			if f == nil || f.Running == nil || f.Runs != it || f.Running.Content != "runs" || f.Running.Worker != "w1" || time.Since(f.Running.Since) < 130*time.Second {
				t.Errorf("%s: %+v", content, f)
			}
		}
		if e := explain(t, i, "orders", "behind"); e.Flight != nil || len(e.WaitsFor) == 0 || !strings.Contains(e.WaitsFor[0], `; its handler has run "runs" for 2m`) {
			t.Errorf("%+v", e)
		}
		hiding, err := New(rdb, Config{HideContents: true})
		must.Do(t, err)
		if e := explain(t, hiding, "orders", "behind"); len(e.WaitsFor) == 0 || !strings.Contains(e.WaitsFor[0], "; its handler has run a message for 2m") {
			t.Errorf("%+v", e)
		}
		zadd(t, rdb, protocol.RunningKey("orders"), "of another program", time.Now().Add(time.Hour).UnixMilli())
		workers, err := i.Workers(ctx)
		must.Do(t, err)
		if len(workers) != 1 || len(workers[0].Running) != 1 || workers[0].Running[0].Content != "runs" {
			t.Errorf("%+v", workers)
		}
		wantCheck(t, i.Doctor(ctx), "handlers", doctor.OK, "none runs for longer than its Timeout")

		// Another batch since, or the same number of another worker: it is not about that.
		k := protocol.KeysOf("orders", 0)
		for field, value := range map[string]any{"batch": 78, "holder": "w2"} {
			before := rdb.HGet(ctx, k.Meta, field).Val()
			must.Do(t, rdb.HSet(ctx, k.Meta, field, value).Err())
			if e := explain(t, i, "orders", "runs"); e.Flight.Running != nil {
				t.Errorf("%+v", e.Flight)
			}
			must.Do(t, rdb.HSet(ctx, k.Meta, field, before).Err())
		}
		// What its worker has not said again counts no more.
		must.Do(t, rdb.Del(ctx, protocol.RunningKey("orders")).Err())
		runs(t, rdb, "orders", time.Minute, time.Second)
		must.Do(t, rdb.ZAddXX(ctx, protocol.RunningKey("orders"), redis.Z{Score: 1000, Member: rdb.ZRange(ctx, protocol.RunningKey("orders"), 0, 0).Val()[0]}).Err())
		if e := explain(t, i, "orders", "runs"); e.Flight.Running != nil {
			t.Errorf("%+v", e.Flight)
		}
		wantCheck(t, i.Doctor(ctx), "handlers", doctor.OK, "none runs for longer than its Timeout")
	})
}

// What runs is seen with its worker, under whichever of its ids, and also if its worker is not listed.
func TestRunningBelongsToSomeWorker(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		runs(t, rdb, "orders", time.Minute, time.Hour) // at w1
		define(t, rdb, message.Topic{Name: "mails", Kind: message.KindFixedTime, Slots: 8})
		zadd(t, rdb, protocol.WorkersKey("orders"), "w1+2", time.Now().Add(time.Hour).UnixMilli()) // a name of its own
		for n, id := range []string{"w1+1", "w1+12", "w1+2", "gone", "gone+1", "w+x", "+1"} {
			noteRun(t, rdb, "mails", protocol.Running{Slot: n, Worker: id, Since: time.Now()}, "x")
		}
		want := map[string]string{"w1": "[w1 w1+1 w1+12]", "w1+2": "[w1+2]", "gone": "[gone gone+1]", "w+x": "[w+x]", "+1": "[+1]"}
		workers, err := i.Workers(ctx)
		must.Do(t, err)
		for _, w := range workers {
			var ids []string
			for _, r := range w.Running {
				ids = append(ids, r.Worker)
			}
			_, runs := w.Assigned["mails"]
			if fmt.Sprint(ids) != want[w.ID] || w.Unlisted != runs || w.Unlisted == strings.HasPrefix(w.ID, "w1") || w.Assigned == nil {
				t.Errorf("%+v", w)
			}
		}
		if len(workers) != len(want) {
			t.Errorf("%d workers", len(workers))
		}
	})
}

// The doctor names a handler that ignores the end of its context, and says what to do.
func TestDoctorNamesStuckHandlers(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		runs(t, rdb, "orders", 10*time.Minute, 30*time.Second)
		var checks []doctor.Check
		await.True(t, "the other one is not named", func() bool {
			must.Do(t, rdb.Del(ctx, protocol.RunningKey("mails")).Err())
			runs(t, rdb, "mails", 31*time.Second, 30*time.Second) // its context was cancelled just now
			checks = i.Doctor(ctx)
			return !strings.Contains(fmt.Sprint(checks), "topic mails slot 0: a handler") // nor is it named in the next 4 s
		})
		wantCheck(t, checks, "handlers", doctor.Warn, `topic orders slot 0: a handler of worker w1 has run "runs" for 10m`, "its Timeout, 30s, is over")
		if !strings.Contains(fmt.Sprint(checks), "restart that worker") {
			t.Errorf("%+v", checks)
		}
	})
}

// All of it together: a worker's handler hangs.
func TestRunningWorker(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 1}
		release := make(chan struct{})
		c := work(t, rdb, consumer.Config{}, topic, func(_ context.Context, d *consumer.Delivery) error { <-release; return nil })
		defer close(release)
		send(t, rdb, topic, message.Priority{Content: binary, Priority: 100})
		await.True(t, "it is seen", func() bool {
			e := explain(t, i, "orders", binary)
			return e.Flight != nil && e.Flight.Runs && e.Flight.Running.Worker == c.Worker() && e.Flight.Running.Content == binary && e.Flight.Running.Timeout == 30*time.Second
		})
		workers, err := i.Workers(ctx)
		must.Do(t, err)
		if len(workers) != 1 || len(workers[0].Running) != 1 {
			t.Errorf("%+v", workers)
		}
		if violations, err := i.Verify(ctx, nil, nil); err != nil || len(violations) > 0 {
			t.Errorf("%+v, %v", violations, err)
		}
	})
}

// A handler ignores its context for longer than twice its Timeout, again and again: its worker goes on under other ids, and is seen
// with all that hangs.
func TestHungHandlersBelongToTheirWorker(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 1}
		release := make(chan struct{})
		cfg := consumer.Config{Lease: 2 * time.Second, Timeout: time.Second / 2, Backoff: verdict.Schedule(time.Millisecond)}
		c := work(t, rdb, cfg, topic, func(context.Context, *consumer.Delivery) error { <-release; return nil })
		defer close(release)
		send(t, rdb, topic, message.Priority{Content: "hangs", Priority: 100})
		await.True(t, "what hangs under another id is seen", func() bool {
			workers, err := i.Workers(ctx)
			must.Do(t, err)
			for _, w := range workers {
				if w.ID != c.Worker() {
					t.Fatalf("%+v", workers)
				}
				for _, r := range w.Running {
					if r.Worker == c.Worker()+"+1" && r.Content == "hangs" && !w.Unlisted { // it is, if this machine is too slow for its lease
						return true
					}
				}
			}
			return false
		})
	})
}
