package consumer

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/schedule"
)

// Proofs of death. Without leases, a batch of a worker that is gone comes free by
// nothing else.

// proofAfter is how long a slot must have been busy before its holder's death is
// looked into: nearly always it is about to leave.
const proofAfter = 300 * time.Millisecond

// suspicion is what became of the questions about one holder. Only one is asked at a
// time.
type suspicion struct {
	asking atomic.Bool
	tries  int
	told   time.Time
}

// patientWith is how many questions may fail before a person is told, since ZooKeeper
// may be about to elect a leader; and toldAgain how often the person is told again.
const (
	patientWith = 3
	toldAgain   = time.Minute
)

// failed counts a question without an answer, and says whether to tell a person.
func (d *suspicion) failed(now time.Time) bool {
	d.tries++
	if d.tries < patientWith || now.Sub(d.told) < toldAgain {
		return false
	}
	d.told = now
	return true
}

// suspect looks into the holder of a slot that stays busy. It is asked itself, and
// ZooKeeper is asked about it. If it is dead, the slot's next turn says so.
func (c *Consumer) suspect(x *slot, holder string) {
	now := time.Now()
	if x.facts.Holder != holder {
		x.facts.Holder, x.busy, x.asked = holder, now, time.Time{}
	}
	c.question(x, holder, now)
	t := x.term()
	if t.member == nil || now.Sub(x.busy) < proofAfter {
		return
	}
	known, _ := c.suspects.LoadOrStore(holder, new(suspicion))
	doubt := known.(*suspicion)
	if doubt.asking.Swap(true) {
		return
	}
	c.running.Go(func() {
		defer doubt.asking.Store(false)
		dead, err := t.member.Verify(c.background, holder)
		if err == nil {
			c.suspects.Delete(holder)
		}
		switch {
		case err != nil:
			if c.background.Err() == nil && doubt.failed(time.Now()) {
				t.log.Warn("nobody can tell whether the holder of a slot is dead, so its messages wait; mend what the error names, or end this worker, so that another one asks",
					zap.String("holder", holder), zap.String("topic", x.topic.Name), zap.Int("slot", x.Index), zap.Error(err))
			}
		case dead:
			c.await(topicsOf(c.schedule.HeldBy(holder)))
			n := c.schedule.WakeHeldBy(holder)
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
	if t := x.term(); t.member != nil && t.member.Until().IsZero() {
		t.retire(errors.New("another worker has proven it dead"))
	}
}

// topicsOf returns the topics of some slots, each once.
func topicsOf(slots []*schedule.Slot) (topics []*topic) {
	for _, x := range slots {
		if t := asSlot(x).topic; !slices.Contains(topics, t) {
			topics = append(topics, t)
		}
	}
	return topics
}
