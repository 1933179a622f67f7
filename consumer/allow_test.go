package consumer

import (
	"context"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/message"
)

// A topic that may have no place any more ends its batches after the message in hand, and begins
// nothing. What it hands back is not an attempt, and comes first when it goes on.
func TestTopicWithoutPlacesEndsItsBatches(t *testing.T) {
	t.Parallel()
	for _, parallel := range []bool{false, true} {
		rdb, topic := shared(t), topicOf(t, message.KindPriority, 2)
		s, n := newSender(t, rdb, topic), newNotes()
		contents := numbered("m", 40)
		s.send(t, contents...)
		hold := make(chan struct{})
		c := work(t, rdb, Config{Concurrency: 4}, topic, n.around(func(_ context.Context, d *Delivery) error {
			if d.Attempt != 1 {
				t.Errorf("%s is delivered for the %d. time", d.Content, d.Attempt)
			}
			<-hold
			return nil
		}), ListenOptions{Parallel: parallel})
		n.await(t, "handlers run", func() bool { return n.running >= 2 })
		scheduled := c.running.topics[0].scheduled
		scheduled.Allow(schedule.ByBreaker, 0)
		n.mu.Lock()
		begun := n.total
		n.mu.Unlock()
		close(hold)
		await.True(t, "both slots have reported and wait", func() bool {
			for _, x := range scheduled.Status() {
				if x.State != schedule.Waiting || x.Permits > 0 {
					return false
				}
			}
			return true
		})
		n.mu.Lock()
		if n.total != begun && !parallel || n.total > begun+4 {
			t.Errorf("%d handlers were called, and then %d", begun, n.total)
		}
		n.mu.Unlock()
		scheduled.Allow(schedule.ByBreaker, 64)
		n.awaitAll(t, contents)
		if parallel {
			n.mu.Lock()
			n.overlaps = 0 // as it should be
			n.mu.Unlock()
		}
		n.wantOnce(t, contents)
	}
}
