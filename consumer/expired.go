package consumer

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/internal/worker/expiry"
)

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
	defer func() { logExpired(b, from, b.next) }()
	for ; b.next < len(b.answer.Contents); b.next++ {
		if inTime, ok := b.inTime(b.next, true); inTime || !ok {
			return ok
		}
		b.late++
	}
	return false
}

// inTime reports whether message i is in time. If it comes too late, its result says so from now on.
// It is not known (not ok) if Redis did not say, or was not to be asked.
//
// MaxLate is only for first deliveries, since retries are not due at a time: see Delivery.Due. A
// time to live ends for retries, too.
func (b *batch) inTime(i int, ask bool) (inTime, ok bool) {
	rules := expiry.Rules{MaxLate: b.topic.opts.MaxLate, Drop: b.topic.opts.Expired == ExpiredDrop}
	var end time.Time
	if b.notes != nil {
		end = b.notes[i].Expires()
	}
	v, inTime, ok := rules.Judge(&b.clock, b.answer.Due(i), end, ask)
	if ok && !inTime {
		b.results[i] = v
	}
	return inTime, ok
}

// logExpired writes a line about messages that came too late: one for all of them, which names
// the first.
func logExpired(b *batch, from, to int) {
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

// noAnswer is how long a question is not asked again that has no answer.
const noAnswer = time.Second

// AskAgain notes that Redis has not answered a question about the batch, without which its
// messages may not be handled. It waits for a moment, and reports whether the batch is still held:
// what is handed back loses its time, so it is asked again as long as that may help.
func (b *batch) AskAgain(err error, say string) bool {
	cluster.NoteError(b.life.Requests, b.rdb, err)
	logOf(b.Scheduled()).Log(b.away.Level(b.Turn.Keys.Store, err), say, zap.Error(err))
	b.topic.meets(err)
	return !b.Leaving() && b.watchdog.Holds(time.Now()) && wait.Sleep(b.life.Requests, noAnswer)
}
