package consumer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// noted is what Redis has of the handlers at a topic that run for long.
func notedRuns(t *testing.T, rdb redis.UniversalClient, topic message.Topic) (all []protocol.Running) {
	t.Helper()
	for _, text := range rdb.ZRange(ctx, protocol.RunningKey(topic.Name), 0, -1).Val() {
		r, ok := protocol.ParseRunning(text)
		if !ok {
			t.Fatalf("%q cannot be read", text)
		}
		all = append(all, r)
	}
	return all
}

// A handler that runs for long is to be seen in Redis, with the message that it has, until it returns; however the messages of
// a batch are handled.
func TestLongRunsAreNoted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		listen wayToListen
		count  int
	}{"serial": {oneAfterTheOther, 1}, "parallel": {sideBySide, 2}, "together": {together, 4}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb, topic := shared(t), topicOf(t, message.KindFixedTime, 1)
			contents := numbered("m", 4)
			at := time.Now().Add(300 * time.Millisecond)
			var ms []message.Message
			for _, x := range contents {
				ms = append(ms, message.FixedTime{Content: x, At: at})
			}
			_, err := newSender(t, rdb, topic).SendBatch(ctx, topic, ms)
			must.Do(t, err)
			release := make(chan struct{})
			n := newNotes()
			w := newConsumer(t, rdb, Config{})
			w.longRun = 50 * time.Millisecond
			must.Do(t, c.listen(w, topic, n.around(func(_ context.Context, d *Delivery) error {
				if d.Content == "m-1" || name == "parallel" && d.Content == "m-2" {
					<-release
				}
				return nil
			})))
			start(t, w)
			var all []protocol.Running
			await.True(t, "it is noted", func() bool {
				all = notedRuns(t, rdb, topic)
				return len(all) == 1 && all[0].Count == c.count // in parallel, others may be noted before they have returned
			})
			r := all[0]
			has := slices.DeleteFunc(slices.Clone(contents), func(x string) bool { return !r.Has(x) })
			if len(has) != c.count || !slices.Contains(has, "m-1") || !r.Has(r.Content) {
				t.Errorf("%+v has %q", r, has)
			}
			clock := rdb.Time(ctx).Val()
			if r.Slot != 0 || r.Worker != w.Worker() || r.Timeout != 30*time.Second || fmt.Sprint(r.Fence) != rdb.HGet(ctx, keysOf(topic, 0).Meta, "batch").Val() ||
				r.Since.Before(at.Add(-time.Millisecond)) || !r.Since.Before(clock) {
				t.Errorf("%+v; due %v, it is %v", r, at, clock)
			}
			key := protocol.RunningKey(topic.Name)
			until := time.UnixMilli(int64(rdb.ZScore(ctx, key, rdb.ZRange(ctx, key, 0, 0).Val()[0]).Val()))
			if ttl := rdb.PTTL(ctx, key).Val(); ttl <= 0 || ttl > time.Minute || until.Before(clock) || until.After(clock.Add(time.Minute)) {
				t.Errorf("it counts until %v, and goes after %v", until, ttl)
			}
			close(release)
			n.awaitAll(t, contents)
			await.True(t, "it is noted no more", func() bool { return rdb.Exists(ctx, key).Val() == 0 })
		})
	}
}

// Who closes, waits for its handlers and takes its notes with it. What a dead worker noted is removed by the next one that notes
// something.
func TestNotesOfLongRunsEnd(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindFixedTime, 1)
	key := protocol.RunningKey(topic.Name)
	dead := protocol.Running{Slot: 3, Worker: "dead", Count: 1, Content: "x", Hashes: []string{"y"}}
	must.Do(t, rdb.ZAdd(ctx, key, redis.Z{Score: 1000, Member: dead.String()}, redis.Z{Score: float64(time.Now().Add(time.Hour).UnixMilli()), Member: "0 alive 0 0 0 1 - x"}).Err())
	newSender(t, rdb, topic).send(t, "m")
	release := make(chan struct{})
	w := newConsumer(t, rdb, Config{})
	w.longRun = 20 * time.Millisecond
	must.Do(t, w.Listen(topic, ListenerFunc(func(context.Context, *Delivery) error { <-release; return nil }), ListenOptions{}))
	start(t, w)
	await.True(t, "it is noted, and the dead one is not", func() bool {
		all := strings.Join(rdb.ZRange(ctx, key, 0, -1).Val(), "\n")
		return strings.Contains(all, w.Worker()) && strings.Contains(all, " alive ") && !strings.Contains(all, " dead ")
	})
	closed := make(chan error, 1)
	go func() { closed <- closeIn(w, await.Patience) }()
	close(release)
	must.Do(t, await.Signal(t, "Close returns", closed))
	if left := notedRuns(t, rdb, topic); len(left) != 1 || left[0].Worker != "alive" {
		t.Errorf("%+v", left)
	}
}

// A handler that ignores its context is to be seen also when its batch is no longer kept.
func TestHungRunsAreNoted(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindFixedTime, 1)
	newSender(t, rdb, topic).send(t, "m")
	release := make(chan struct{})
	w := newConsumer(t, rdb, Config{Lease: time.Second, Timeout: 10 * time.Millisecond, hung: 20 * time.Millisecond})
	w.longRun = 300 * time.Millisecond
	must.Do(t, w.Listen(topic, ListenerFunc(func(_ context.Context, d *Delivery) error {
		if d.Attempt == 1 {
			<-release
		}
		return nil
	}), ListenOptions{}))
	start(t, w)
	await.True(t, "it is noted while it hangs", func() bool {
		all := notedRuns(t, rdb, topic)
		return len(all) == 1 && all[0].Timeout == 10*time.Millisecond && all[0].Has("m")
	})
	close(release)
	await.True(t, "it is noted no more", func() bool { return len(notedRuns(t, rdb, topic)) == 0 })
}

// Redis may be away when something is to be noted: it is noted later.
func TestLongRunsAreNotedLater(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	rdb, topic := server.Client(t), topicOf(t, message.KindFixedTime, 1)
	newSender(t, rdb, topic).send(t, "m")
	begun, release := make(chan struct{}), make(chan struct{})
	w := newConsumer(t, proxy.Client(t), Config{})
	w.longRun = 100 * time.Millisecond
	must.Do(t, w.Listen(topic, ListenerFunc(func(context.Context, *Delivery) error { close(begun); <-release; return nil }), ListenOptions{}))
	start(t, w)
	await.Signal(t, "it is handled", begun)
	proxy.LoseNextReply("zrange", protocol.RunningKey(topic.Name))
	await.True(t, "it is noted", func() bool { return len(notedRuns(t, rdb, topic)) == 1 })
	close(release)
}
