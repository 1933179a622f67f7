package consumer

import (
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/frozen"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// serverClock is the clock of a slot's server, as the worker of one batch knows it: it was read
// at some moment between two of this process, and is counted on from there.
//
// At first it is the fence, which is no smaller than the server's clock when the batch was taken,
// counted on from before that turn was sent. So it is never slow: what is not over by it is not
// over. The server itself is asked, once for a batch, in two cases: something is over by this
// clock; or the batch may have been told before, and its fence is too old to count on from.
type serverClock struct {
	read     time.Time // of the server
	asked    time.Time // of this process, before that
	answered time.Time // and after it; zero: the server was not asked
}

// latest and earliest are what the server's clock shows, at the most and at the least, at a time
// of this process.
func (s *serverClock) latest(now time.Time) time.Time   { return s.read.Add(now.Sub(s.asked)) }
func (s *serverClock) earliest(now time.Time) time.Time { return s.read.Add(now.Sub(s.answered)) }

// past returns how long ago a moment of the server was; if that is not positive, it is not over
// yet. Both are sure. It is not known (not ok) if the server did not answer while the batch was
// held, or was not to be asked.
func (b *batch) past(moment time.Time, ask bool) (by time.Duration, ok bool) {
	if now := frozen.Clock(b.rdb); now != nil { // it stands still, in a test of a program that uses rmqtest
		return now().Sub(moment), true
	}
	if b.clock == nil {
		b.clock = &serverClock{read: time.UnixMicro(b.answer.Fence), asked: b.Sent}
	}
	for {
		now, known := time.Now(), !b.clock.answered.IsZero()
		if by = b.clock.latest(now).Sub(moment); by <= 0 && (known || b.fresh) {
			return by, true
		}
		if by = b.clock.earliest(now).Sub(moment); known && by > 0 {
			return by, true
		}
		switch {
		case !ask:
			return 0, false
		case !known:
			ok = b.askTime()
		default: // it is between earliest and latest: soon even earliest is past it
			ok = wait.Sleep(b.life.Requests, 1-by)
		}
		if !ok {
			return 0, false
		}
	}
}

// askTime asks the slot's server for its time, and reports whether it has answered.
func (b *batch) askTime() bool {
	for {
		asked := time.Now()
		node, _, err := cluster.MasterFor(b.life.Requests, b.rdb, b.Turn.Keys.Store)
		if err == nil {
			var read time.Time
			if read, err = node.Time(b.life.Requests).Result(); err == nil {
				*b.clock = serverClock{read: read, asked: asked, answered: time.Now()}
				return true
			}
		}
		if !b.askAgain(err, "Redis does not say how late messages are; it is asked again") {
			return false
		}
	}
}

// noAnswer is how long a question is not asked again that has no answer.
const noAnswer = time.Second

// askAgain notes that Redis has not answered a question about the batch, without which its
// messages may not be handled. It waits for a moment, and reports whether the batch is still held:
// what is handed back loses its time, so it is asked again as long as that may help.
func (b *batch) askAgain(err error, say string) bool {
	cluster.NoteError(b.life.Requests, b.rdb, err)
	logOf(b.Scheduled()).Log(b.away.Level(b.Turn.Keys.Store, err), say, zap.Error(err))
	b.topic.meets(err)
	return !b.Leaving() && b.watchdog.Holds(time.Now()) && wait.Sleep(b.life.Requests, noAnswer)
}
