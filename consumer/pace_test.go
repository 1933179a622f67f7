package consumer

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/worker/intake"
	"github.com/slotmq/go-rmq/message"
)

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
	c.pace = intake.NewPace(func(float64, int, float64) time.Duration { return gap }) // whatever is to be done
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
