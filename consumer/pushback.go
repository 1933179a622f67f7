package consumer

import (
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/servers/frozen"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
)

// A message that is pushed back is handed back, not put back. So its attempt, its time and its priority stay, and
// nothing is written about it. It is due at once, but its slot waits for a place, and so it comes back to this worker
// after the rest, or to the one that gets the slot.

// pushedBack is what becomes of a message that its handler pushed back.
func pushedBack(b *batch, d *Delivery, rest time.Duration, v verdict.Verdict) verdict.Verdict {
	b.term().Log.Debug("message is pushed back by its handler", b.about(d, zap.String("reason", b.texts.Of(v.Reason)), zap.Duration("for", rest))...)
	if clock := frozen.Clock(b.rdb); clock != nil { // no time passes while a test waits for what is due
		b.topic.restUntil(clock().Add(rest))
		v.Fate, v.Delay = verdict.Snoozed, rest
		return v
	}
	b.topic.gate.Rest(rest)
	v.Overload = true
	return v
}

// restUntil has a topic rest whose clock stands still: until then each of its messages is put back.
func (t *topic) restUntil(moment time.Time) {
	for ms := moment.UnixMilli(); ; {
		if held := t.rests.Load(); held >= ms || t.rests.CompareAndSwap(held, ms) {
			return
		}
	}
}

// passResting passes over all messages of a topic that rests so.
func passResting(b *batch) {
	until := b.topic.rests.Load()
	if until == 0 { // nearly always
		return
	}
	in := time.UnixMilli(until).Sub(frozen.Clock(b.rdb)())
	for ; in > 0 && b.next < len(b.answer.Contents); b.next++ {
		b.results[b.next] = verdict.Verdict{Fate: verdict.Snoozed, Delay: in}
		b.late++
	}
}
