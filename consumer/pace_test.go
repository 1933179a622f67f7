package consumer

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
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
		{0, 100, protocol.MaxBatch},
		{10 * time.Microsecond, 100, protocol.MaxBatch},
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

func TestGap(t *testing.T) {
	t.Parallel()
	ms := func(x float64) time.Duration { return time.Duration(x * float64(time.Millisecond)) }
	for _, c := range []struct {
		perSec float64
		slots  int
		share  float64
		want   time.Duration
	}{
		{0, 64, 1, 0},
		{100, 64, 1, 0}, // less than the least
		{1000, 4, 1, 0},
		{10_000, 50, 1, ms(0.535)},
		{40_000, 64, 1, ms(1.937)},
		{360_000, 16, 1, ms(2.516)},
		{360_000, 64, 1, ms(10.064)},
		{360_000, 256, 1, mostGap},
		{10_000, 16, 0.25, ms(1.937)}, // as the worker that has all of 40,000 on 64 slots
		{1e9, 65_536, 0.001, mostGap},
		{1e5, 64, 0, 0}, // all are being left
	} {
		if got := gapFor(c.perSec, c.slots, c.share); (got - c.want).Abs() > 2*time.Microsecond {
			t.Errorf("%v messages a second on %d slots, %v of all: %v, want %v", c.perSec, c.slots, c.share, got, c.want)
		}
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	p, now, asked := pace{}, time.Now(), 0
	busy := func() (int, float64) { asked++; return 64, 1 }
	if at := p.next(now, now); !at.IsZero() {
		t.Errorf("at first a slot waits until %v", at)
	}
	p.took(0, now, busy) // the first window begins
	for range 40 {       // 40,000 a second
		now = now.Add(paceWindow / 39)
		p.took(2000/40, now, busy)
	}
	if asked != 2 {
		t.Errorf("%d windows", asked)
	}
	const gap, step = 1937 * time.Microsecond, 242 * time.Microsecond
	ends := map[time.Duration]bool{}
	for since := time.Duration(0); since < gap; since += 10 * time.Microsecond {
		at := p.next(now.Add(since), now.Add(since))
		if wait := at.Sub(now) - since; wait < gap*9/10 || wait > gap+step*11/10 {
			t.Fatalf("a slot waits for %v, not about %v", wait, gap)
		}
		ends[at.Sub(epoch)] = true
	}
	if len(ends) > gapSteps+2 { // and those of the gaps before and behind
		t.Errorf("gaps end at %d times, not at %d", len(ends), gapSteps)
	}
	if at := p.next(now, now.Add(2*gap)); !at.IsZero() {
		t.Errorf("a slot whose handlers took longer than the gap waits until %v", at)
	}
	p.took(0, now.Add(time.Hour), busy)
	if at := p.next(now, now); !at.IsZero() {
		t.Errorf("after an hour without messages a slot waits until %v", at)
	}
}

// Under load a slot waits for a fuller batch, unless its batch was full.
func TestSlotsWaitForFullerBatches(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	const backlog, single, gap = 4000, 50, 2 * time.Second
	n := newNotes()
	var mu sync.Mutex
	batches := map[int64]int{}
	var last time.Time
	waits := 0
	c := newConsumer(t, rdb, Config{})
	c.pace.began = time.Now().Add(time.Hour) // so that the gap stays
	c.pace.gap.Store(int64(gap))
	must.Do(t, c.Listen(topic, n.around(func(_ context.Context, d *Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if batches[d.Fence]++; batches[d.Fence] == 1 && now.Sub(last) >= gap {
			waits++
		}
		last = now
		return nil
	}), ListenOptions{}))
	s := newSender(t, rdb, topic)
	start(t, c)
	round := func(contents []string) (wrong string) {
		s.send(t, contents[:backlog]...)
		n.awaitAll(t, contents[:backlog])
		mu.Lock()
		if waits > len(batches)/2 {
			wrong = fmt.Sprintf("before %d of %d batches, nearly all of them full, there was a gap", waits, len(batches))
		}
		clear(batches)
		mu.Unlock()
		begin := time.Now()
		for _, x := range contents[backlog:] {
			s.send(t, x)
		}
		n.awaitAll(t, contents)
		must.Do(t, c.settle(ctx))
		mu.Lock()
		defer mu.Unlock()
		if most := 2 + int(time.Since(begin)/gap); len(batches) > most {
			wrong = fmt.Sprintf("%d messages that were sent one by one came in %d batches, not at most %d", single, len(batches), most)
		}
		clear(batches)
		waits = 0
		return wrong
	}
	// A slot whose handler was stalled takes small batches for a while, and so few messages fill one.
	for again := range 5 {
		wrong := round(numbered(fmt.Sprint("m", again), backlog+single))
		if wrong == "" {
			return
		}
		t.Log(wrong)
	}
	t.Error("so it was each time")
}
