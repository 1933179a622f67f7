package consumer

import (
	"errors"
	"time"

	"go.uber.org/zap"
)

// Proofs of death. Without leases, a batch of a worker that is gone comes free by
// nothing else.

// proofAfter is how long a slot must have been busy before its holder's death is
// looked into: nearly always it is about to leave.
const proofAfter = 300 * time.Millisecond

// suspect asks ZooKeeper about the holder of a slot that stays busy. If that one is
// dead, the slot's next turn says so.
func (c *Consumer) suspect(x *slot, holder string) {
	now := time.Now()
	if x.holder != holder {
		x.holder, x.busy = holder, now
	}
	t := x.term
	if t.member == nil || now.Sub(x.busy) < proofAfter {
		return
	}
	if _, asking := c.suspects.LoadOrStore(holder, true); asking {
		return
	}
	c.running.Go(func() {
		defer c.suspects.Delete(holder)
		dead, err := t.member.Verify(c.background, holder)
		switch {
		case err != nil:
			t.log.Debug("nothing is known of a slot's holder", zap.String("holder", holder), zap.Error(err))
		case dead:
			n := c.schedule.wakeBusy(holder)
			t.log.Warn("a worker is dead; its batches are taken over", zap.String("holder", holder), zap.Int("slots", n))
		}
	})
}

// refused notes that the turn which was to finish a batch was not the one that did.
//
// A turn that was sent once is refused because the batch was taken over. If the
// worker coasts, its id has then been proven dead: ZooKeeper is there, this worker
// alone is cut off, and it draws the conclusion. A turn that was repeated may have
// been executed before, its answer lost, and the slot be another's by now. (So it
// is with every leave whose answer gets lost.) That proves nothing. If the batch
// was taken over after all, so will be the next one.
func (c *Consumer) refused(x *slot, repeated bool) {
	if repeated {
		c.logOf(x).Info("answers of Redis got lost: the batch was finished, or it was taken over and its messages may be handled again")
		return
	}
	c.logOf(x).Warn("the batch was taken over before it was finished: its messages may be handled again")
	if t := x.term; t.member != nil && t.member.Until().IsZero() {
		t.retire(errors.New("another worker has proven it dead"))
	}
}
