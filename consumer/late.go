package consumer

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/frozen"
	"github.com/slotmq/go-rmq/internal/wait"
)

// Expired says what becomes of a message that comes later than MaxLate.
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

// serverClock is the clock of a slot's server, as the worker of one batch knows it. It is
// read at some moment, and counted on from there.
//
// At first it is the fence, which is no smaller than the clock when the batch was taken,
// counted on from before that turn was sent. So it is never slow: a message that is in time by
// it is in time. Where it says that a message is late the server itself is asked, once for a
// batch.
type serverClock struct {
	read  time.Time // of the server
	at    time.Time // of this process
	exact bool      // the server was asked
	still bool      // it stands still, in a test of a program that uses rmqtest
}

// now is the server's time at one of this process.
func (s *serverClock) now(local time.Time) time.Time {
	if s.still {
		return s.read
	}
	return s.read.Add(local.Sub(s.at))
}

// passLate passes over messages that are later than MaxLate. It reports whether there is
// one behind them that is surely in time.
//
// Only first deliveries are due at a time: see Delivery.Due. They stand in the order of
// their times, so if one is in time those behind it are.
func (b *batch) passLate() bool {
	from := b.next
	defer func() { b.logLate(from, b.next) }()
	for ; b.next < len(b.answer.Contents); b.next++ {
		due := b.answer.Due(b.next)
		if due.IsZero() {
			return true
		}
		by, ok := b.lateBy(due)
		if !ok || by <= b.topic.opts.MaxLate {
			return ok
		}
		r := result{fate: dead, reason: fmt.Sprintf("expired: due %s, late by %v", due.UTC().Format("2006-01-02T15:04:05.000Z"), by.Round(time.Millisecond))}
		if b.topic.opts.Expired == ExpiredDrop {
			r.fate = dropped
		}
		b.results[b.next] = r
		b.late++
	}
	return false
}

// lateBy is how late a message is that was due at a time. If that is more than MaxLate, it
// is surely so late. It is not known (not ok) if the server could not be asked as long as
// the batch was held.
func (b *batch) lateBy(due time.Time) (by time.Duration, ok bool) {
	if b.clock == nil {
		b.clock = &serverClock{read: time.UnixMicro(b.answer.Fence), at: b.sent, still: frozen.Clock(b.rdb) != nil}
	}
	by = b.clock.now(time.Now()).Sub(due)
	if by <= b.topic.opts.MaxLate || b.clock.exact {
		return by, true
	}
	read, err := b.askTime()
	for ; err != nil; read, err = b.askTime() {
		// What is handed back loses its time, so it is asked again as long as that may help.
		if b.Leaving() || !b.watchdog.holds(time.Now()) || !wait.Sleep(b.shift.Requests, lastRepeat) {
			return 0, false
		}
	}
	*b.clock = serverClock{read: read, at: time.Now(), exact: true, still: b.clock.still}
	return read.Sub(due), true
}

// askTime asks the slot's server for its time.
func (b *batch) askTime() (time.Time, error) {
	node, _, err := cluster.MasterFor(b.shift.Requests, b.rdb, b.turn.Keys.Store)
	if err != nil {
		return time.Time{}, err
	}
	now, err := node.Time(b.shift.Requests).Result()
	if err != nil {
		cluster.NoteError(b.shift.Requests, b.rdb, err)
		logOf(&b.Slot).Log(b.away.Level(b.turn.Keys.Store, err), "Redis does not say how late messages are; it is asked again", zap.Error(err))
	}
	return now, err
}

// logLate writes a line about messages that came too late: one for all of them, which names
// the first.
func (b *batch) logLate(from, to int) {
	if from == to {
		return
	}
	log := logOf(&b.Slot).With(b.hide.content(b.answer.Contents[from])...).With(zap.Int("messages", to-from), zap.String("reason", b.results[from].reason))
	if b.topic.opts.Expired == ExpiredDrop {
		log.Warn("messages came too late and are dropped")
	} else {
		log.Error("messages came too late and are dead", zap.String("key", b.turn.Keys.Dead))
	}
}
