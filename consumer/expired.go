package consumer

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/worker/verdict"
)

// What expires rarely asks for the time. It is looked at when a message's handler would be called. The fence is never
// smaller than the clock of Redis at the take, in µs. So the fence plus the time since that turn was sent is a clock
// that is never slow: what is in time by it is so. Otherwise Redis is asked, once for a batch, and the worker goes on
// from that answer. If Redis does not answer, the worker asks again and keeps the batch: handed back, it would come
// again at once.

// Expired says what becomes of a message that comes too late: later than MaxLate, or when its
// time to live is over.
type Expired uint8

const (
	// ExpiredDead: it is dead, with a reason that says how late it was.
	ExpiredDead Expired = iota

	// ExpiredDrop: it is gone, as if it had been handled. The log says how many were.
	ExpiredDrop
)

// String returns "dead" or "drop".
func (e Expired) String() string {
	switch e {
	case ExpiredDead:
		return "dead"
	case ExpiredDrop:
		return "drop"
	}
	return fmt.Sprintf("Expired(%d)", uint8(e))
}

// mayExpire reports whether messages of the batch may come too late.
func (b *batch) mayExpire() bool { return b.topic.opts.MaxLate > 0 || b.notes != nil }

// passExpired passes over messages that come too late. It reports whether the next one is surely
// in time.
func (b *batch) passExpired() bool {
	from := b.next
	defer func() { b.logExpired(from, b.next) }()
	for ; b.next < len(b.answer.Contents); b.next++ {
		if inTime, ok := b.inTime(b.next, true); inTime || !ok {
			return ok
		}
		b.late++
	}
	return false
}

// inTime reports whether message i is in time. If it comes too late, its result says so from now on.
// It is not known (not ok) if Redis did not say, or was not to be asked: then the message must not
// be handled.
//
// MaxLate is only for first deliveries, since retries are not due at a time: see Delivery.Due. A
// time to live ends for retries, too.
func (b *batch) inTime(i int, ask bool) (inTime, ok bool) {
	var reason string
	if most := b.topic.opts.MaxLate; most > 0 {
		if due := b.answer.Due(i); !due.IsZero() {
			by, ok := b.past(due.Add(most), ask)
			if !ok {
				return false, false
			}
			if by > 0 {
				reason = fmt.Sprintf("expired: due %s, late by %v", stamp(due), (by + most).Round(time.Millisecond))
			}
		}
	}
	if end := b.endOfLife(i); reason == "" && !end.IsZero() {
		by, ok := b.past(end.Add(-1), ask) // at that moment it is over already
		if !ok {
			return false, false
		}
		if by > 0 {
			reason = fmt.Sprintf("expired: its time to live ended %s, %v ago", stamp(end), by.Round(time.Millisecond))
		}
	}
	if reason == "" {
		return true, true
	}
	v := verdict.Verdict{Fate: verdict.Dead, Reason: reason, Err: ErrExpired}
	if b.topic.opts.Expired == ExpiredDrop {
		v.Fate = verdict.Dropped
	}
	b.results[i] = v
	return false, true
}

// stamp is a moment as reasons have it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// logExpired writes a line about messages that came too late: one for all of them, which names
// the first.
func (b *batch) logExpired(from, to int) {
	if from == to {
		return
	}
	log := logOf(b.Scheduled()).With(b.hide.Content(b.answer.Contents[from])...).With(zap.Int("messages", to-from), zap.String("reason", b.results[from].Reason))
	if b.topic.opts.Expired == ExpiredDrop {
		log.Warn("messages came too late and are dropped")
	} else {
		log.Error("messages came too late and are dead", zap.String("key", b.Turn.Keys.Dead))
	}
}
