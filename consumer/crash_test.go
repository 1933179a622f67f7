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

	"github.com/slotmq/go-rmq/message"
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
	wait(t, "Backoff is asked", reached)
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
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			must(t, rdb.ZAdd(ctx, keysOf(topic, slot).Store, redis.Z{Score: 100, Member: name + large}).Err())
			total++
		}
	}
	before := heap()
	var handled, failed atomic.Int64
	c := work(t, rdb, Config{Backoff: Schedule(time.Millisecond)}, topic, func(_ context.Context, d *Delivery) error {
		if d.Attempt == 1 && d.Content[0] < 'c' {
			failed.Add(1)
			return errors.New(d.Content)
		}
		handled.Add(1)
		return nil
	})
	eventually(t, "all are handled", func() bool { return int(handled.Load()) == total })
	must(t, c.Settle(ctx))
	if kept := heap() - before; kept > 10 {
		t.Errorf("an idle worker keeps %d MiB of %d", kept, total/2)
	}
}
