package journal

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/internal/ledger"
)

// Mark writes rows about contents of a slot, and returns when they are committed: with the rows that
// wait in memory, without waiting for the Lag.
func (j *Journal) Mark(ctx context.Context, t ledger.Topic, slot int, marks ...ledger.Mark) error {
	if len(marks) == 0 {
		return nil
	}
	told := make(chan error, 1)
	w := &waiter{then: func(err error) { told <- err }}
	now := time.Now()
	j.mu.Lock()
	if j.closing {
		j.mu.Unlock()
		return j.unwritten()
	}
	topic := j.topic(t.Topic)
	for _, m := range marks {
		b := j.room(endedSize + len(m.Content) + len(m.Reason))
		b.ended = append(b.ended, endedRow{
			seq: j.seq, number: m.Number, at: now.UnixMilli(), topic: topic, slot: slot, what: m.What, reason: m.Reason, content: m.Content,
		})
	}
	w.timer = time.AfterFunc(j.cfg.WaitAtMost, func() { w.tell(j.late()) })
	j.next.waiters = append(j.next.waiters, w)
	j.afterAdding()
	signal(j.enough)
	j.mu.Unlock()
	select {
	case err := <-told:
		if err != nil {
			return fmt.Errorf("journal: mark: %w", err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
