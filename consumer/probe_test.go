package consumer

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// A probe looks behind what comes first, also where a rate lets each turn take little. It takes one
// message, so a worker that dies in it costs no other message an attempt.
func TestProbeLooksBehind(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{0, 1000} {
		rdb, topic := shared(t), topicOf(t, message.KindRangeMerge, 1)
		s := newSender(t, rdb, topic)
		s.send(t, numbered("bad", 100)...)
		await.Pass(5 * time.Millisecond) // so they are due before the others
		s.send(t, numbered("good", 100)...)
		var bad atomic.Int32
		flying := make(chan int64, 1)
		c := newConsumer(t, rdb, Config{Backoff: verdict.Schedule(time.Hour)})
		c.longestPause = 100 * time.Millisecond
		must.Do(t, c.Listen(topic, ListenerFunc(func(_ context.Context, d *Delivery) error {
			if d.Content[0] == 'b' {
				bad.Add(1)
				return errors.New("poison")
			}
			select {
			case flying <- rdb.ZCard(ctx, keysOf(topic, 0).Prepare).Val():
			default:
			}
			return nil
		}), ListenOptions{Rate: Rate{PerSecond: rate}}))
		start(t, c)
		if n := await.Signal(t, "a good message", flying); n != 1 {
			t.Errorf("rate %v: %d messages are in flight for one probe", rate, n)
		}
		if n := bad.Load(); n > 2*probesAfter {
			t.Errorf("rate %v: %d bad ones were tried before a good one", rate, n)
		}
		must.Do(t, closeIn(c, await.Patience))
	}
}
