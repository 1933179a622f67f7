package consumer

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

func TestBatchSize(t *testing.T) {
	t.Parallel()
	var b batchSize
	if b.count(1) != firstBatch {
		t.Errorf("the first batch has %d", b.count(1))
	}
	for _, c := range []struct {
		each  time.Duration
		bytes int
		want  int
	}{
		{0, 100, luascripts.MaxBatch},
		{10 * time.Microsecond, 100, luascripts.MaxBatch},
		{time.Millisecond, 100, 10},
		{4 * time.Millisecond, 100, 2},
		{10 * time.Millisecond, 100, 1},
		{time.Hour, 100, 1},
		{0, 256 << 10, 4},
		{0, 64 << 20, 1},
		{time.Millisecond, 512 << 10, 2},
	} {
		b := batchSize{}
		for range 5 {
			b.learn(16*c.each, 16, 16*c.bytes)
		}
		if got := b.count(1); got != c.want {
			t.Errorf("%v and %d bytes each: %d, want %d", c.each, c.bytes, got, c.want)
		}
	}
	// It follows a change, within some batches and not at once.
	for range 5 {
		b.learn(16*time.Millisecond, 16, 1600)
	}
	b.learn(time.Second, 1, 100)
	if b.count(1) != 1 {
		t.Errorf("after one slow message: %d", b.count(1))
	}
	for range 60 {
		b.learn(time.Millisecond, b.count(1), 100)
	}
	if b.count(1) < 50 {
		t.Errorf("after many fast batches: %d", b.count(1))
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	var p pace
	for _, c := range []struct {
		perSec      float64
		small, busy time.Duration
	}{{0, 0, 0}, {quietTurns - 1, 0, 0}, {quietTurns, smallGap, busyGap}, {50_000, smallGap, busyGap}} {
		p.perSec = c.perSec
		small, busy, full := p.gap(busyBatch-1, false), p.gap(busyBatch, false), p.gap(busyBatch, true)
		if small != c.small || busy != c.busy || full != 0 {
			t.Errorf("%v turns a second: gap %v after a small batch, %v after a larger and %v after a full one", c.perSec, small, busy, full)
		}
	}
	// A window later the rate is measured anew.
	p.perSec, p.began, p.turns = 50_000, time.Now().Add(-time.Second), 99
	p.wait(1, 0, 0)
	if p.perSec > 100 || p.turns != 0 {
		t.Errorf("%v turns a second, %d in this window", p.perSec, p.turns)
	}
	// Busy, a write waits for its share, less what its messages and its answer
	// have cost already.
	p.perSec, p.began = 50_000, time.Now().Add(time.Hour)
	begin := time.Now()
	p.wait(8, 0, 0)
	if waited := time.Since(begin); waited < 8*turnShare {
		t.Errorf("waited %v", waited)
	}
}

// Turns that come back full are not counted: more messages wait there, and to ask
// less often would gain nothing.
func TestPaceCountsTurnsWithRoomLeft(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	contents := numbered("m", 20_000)
	newSender(t, rdb, topic).send(t, contents...)
	n := newNotes()
	var mu sync.Mutex
	batches := map[int64]bool{}
	c := newConsumer(t, rdb, Config{})
	c.pace.began = time.Now().Add(time.Hour) // so that one window holds all
	must(t, c.Listen(topic, n.around(func(_ context.Context, d *Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		batches[d.Fence] = true
		return nil
	}), ListenOptions{}))
	must(t, c.Start(ctx))
	n.awaitAll(t, contents)
	must(t, c.settle(ctx))
	mu.Lock()
	defer mu.Unlock()
	c.pace.mu.Lock()
	defer c.pace.mu.Unlock()
	if counted := c.pace.turns; counted == 0 || counted > len(batches)/2 {
		t.Errorf("%d turns were counted, with %d batches, nearly all of them full", counted, len(batches))
	}
}
