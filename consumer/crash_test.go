package consumer

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// Backoff is asked for failures only, and one that never answers holds up nobody but
// the slot whose message failed.
func TestBackoffIsForFailures(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 4)
	var asked atomic.Int64
	n, release, reached := newNotes(), make(chan struct{}), make(chan struct{}, 1)
	work(t, rdb, Config{Concurrency: 4, Backoff: func(int) time.Duration {
		asked.Add(1)
		reached <- struct{}{}
		<-release
		return time.Millisecond
	}}, topic, n.around(func(_ context.Context, d *Delivery) error {
		if d.Content == "fails" && d.Attempt == 1 {
			return errors.New("no")
		}
		return nil
	}))
	s := newSender(t, rdb, topic)
	contents := numbered("m", 400)
	s.send(t, contents...)
	n.awaitAll(t, contents)
	if asked.Load() != 0 {
		t.Errorf("Backoff was asked %d times, and nothing failed", asked.Load())
	}
	s.send(t, "fails")
	await.Signal(t, "Backoff is asked", reached)
	var others []string
	for _, content := range numbered("o", 100) {
		if slotOf(topic, content) != slotOf(topic, "fails") {
			others = append(others, content)
		}
	}
	s.send(t, others...)
	n.awaitAll(t, others)
	if asked.Load() != 1 {
		t.Errorf("Backoff was asked %d times for one failure", asked.Load())
	}
	close(release)
	n.await(t, "the retry comes", func() bool { return len(n.attempts["fails"]) == 2 })
}

// Slots that are handed over while their handlers run are no failure, though they are busy
// for a while.
func TestBackoffIsNotForHandOvers(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, cfg Config) {
		rdb, topic := shared(t), topicOf(t, message.KindPriority, 4)
		var asked atomic.Int64
		core, logs := observer.New(zap.DebugLevel)
		cfg.Logger = zap.New(core)
		cfg.Backoff = func(int) time.Duration { asked.Add(1); return time.Millisecond }
		n, gate := newNotes(), make(chan struct{})
		a := work(t, rdb, cfg, topic, gated(n, gate))
		contents := oneForEachSlot(t, newSender(t, rdb, topic))
		n.await(t, "all are in their handlers", func() bool { return n.running == topic.Slots })
		b := work(t, rdb, cfg, topic, n.done())
		await.True(t, "the other one has met slots that are busy", func() bool {
			return owned(a) == 2 && owned(b) == 2 && logs.FilterMessage("slot is busy").Len() > 8
		})
		close(gate)
		n.awaitAll(t, contents)
		n.wantOnce(t, contents)
		if asked.Load() > 0 {
			t.Errorf("Backoff was asked %d times, and nothing failed", asked.Load())
		}
	})
}

// The messages of a worker that died wait as long as Backoff says: its lease was over long before a
// worker came, or is over while one waits for it, or ZooKeeper proves that it is dead.
func TestBackoffOfTheDead(t *testing.T) {
	t.Parallel()
	for name, its := range map[string]struct {
		lease time.Duration
		cfg   func(t *testing.T) Config
	}{
		"lease over": {time.Millisecond, func(*testing.T) Config { return Config{} }},
		"lease runs": {8 * time.Second, func(*testing.T) Config { return Config{} }},
		"no session": {0, func(t *testing.T) Config {
			return Config{Slots: slots.ZooKeeper(sharedBy(t, servertest.SharedZooKeeper(t), lasting))}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb, topic, cfg := shared(t), topicOf(t, message.KindPriority, 1), its.cfg(t)
			newSender(t, rdb, topic).send(t, "m")
			k := keysOf(topic, 0)
			ghost := protocol.Turn{Keys: k, Priority: true, Worker: "ghost", Lease: its.lease, Count: 1}
			turn(t, rdb, &ghost, protocol.Batch)
			if its.lease == time.Millisecond {
				await.True(t, "its lease is over", func() bool {
					until, err := rdb.HGet(ctx, k.Meta, "until").Int64()
					return err == nil && until < rdb.Time(ctx).Val().UnixMilli()
				})
			}
			cfg.Backoff = verdict.Schedule(time.Hour)
			work(t, rdb, cfg, topic, newNotes().done())
			await.True(t, "its batch is taken over", func() bool { return rdb.ZCard(ctx, k.Retry).Val() == 1 })
			due := time.UnixMilli(int64(rdb.ZScore(ctx, k.Retry, "m").Val()) / 100)
			if in := time.Until(due); in < 30*time.Minute {
				t.Errorf("its message comes again in %v", in)
			}
		})
	}
}

// An idle worker keeps nothing of the large contents it has handled. (No other test
// runs beside this one.)
func TestIdleWorkerKeepsLittle(t *testing.T) {
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 16)
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc) >> 20
	}
	large := strings.Repeat("x", 512<<10)
	total := 0
	for slot := range topic.Slots {
		for _, name := range []string{"a", "b", "c", "d"} {
			must.Do(t, rdb.ZAdd(ctx, keysOf(topic, slot).Store, redis.Z{Score: 100, Member: name + large}).Err())
			total++
		}
	}
	before := heap()
	var handled, failed atomic.Int64
	c := work(t, rdb, Config{Backoff: verdict.Schedule(time.Millisecond)}, topic, func(_ context.Context, d *Delivery) error {
		if d.Attempt == 1 && d.Content[0] < 'c' {
			failed.Add(1)
			return errors.New(d.Content)
		}
		handled.Add(1)
		return nil
	})
	await.True(t, "all are handled", func() bool { return int(handled.Load()) == total })
	must.Do(t, c.settle(ctx))
	if kept := heap() - before; kept > 10 {
		t.Errorf("an idle worker keeps %d MiB of %d", kept, total/2)
	}
}
