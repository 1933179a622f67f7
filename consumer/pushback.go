package consumer

import (
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/servers/frozen"
)

// A message that is pushed back is handed back, not put back. So its attempt, its time and its priority stay, and
// nothing is written about it. It is due at once, but its slot waits for a place, and so it comes back to this worker
// after the rest, or to the one that gets the slot.

// ErrPushedBack is found by errors.Is in the errors that [Pushback] returns, and by observers in
// those of a message that was handed back for this reason.
var ErrPushedBack = errors.New("pushed back by its handler")

// longestRest bounds what a topic rests.
const longestRest = time.Hour

type pushbackError struct {
	error
	rest time.Duration
}

func (e pushbackError) Unwrap() error { return e.error }

func (e pushbackError) Is(target error) bool { return target == ErrPushedBack }

// Pushback says that what is behind the handler takes no more at present: the message goes back,
// the delivery does not count, and this worker begins nothing else of the topic for d. It is no
// failure, so a message may be pushed back for ever. Handlers that run go on; if several push
// back, the topic rests until the last of them is satisfied. d is at least 1 ms and at most 1
// hour: what is outside counts as the nearest of these. err says why; you may wrap the error.
func Pushback(d time.Duration, err error) error {
	if err == nil {
		err = ErrPushedBack
	}
	return pushbackError{err, min(max(d, time.Millisecond), longestRest)}
}

// pushedBack is what becomes of a message that its handler pushed back.
func (b *batch) pushedBack(d *Delivery, x pushbackError, r result) result {
	b.term().Log.Debug("message is pushed back by its handler", b.about(d, zap.String("reason", b.text(r.reason)), zap.Duration("for", x.rest))...)
	if clock := frozen.Clock(b.rdb); clock != nil { // no time passes while a test waits for what is due
		b.topic.restUntil(clock().Add(x.rest))
		r.fate, r.delay = snoozed, x.rest
		return r
	}
	b.topic.gate.rest(x.rest)
	r.fate, r.over = notStarted, true
	return r
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
		b.results[b.next] = result{fate: snoozed, delay: in}
		b.late++
	}
}
