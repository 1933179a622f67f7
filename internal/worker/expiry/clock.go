package expiry

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/frozen"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// Server is where clocks ask for the time.
type Server struct {
	Redis    redis.UniversalClient
	Requests context.Context // ends when nothing is to be asked any more
}

// Batch is one whose messages may come too late.
type Batch interface {
	// AskAgain notes that Redis has not answered a question, waits for a moment, and reports whether to ask again.
	AskAgain(err error, say string) bool
}

// Clock is the clock of a slot's server, as the worker of one batch knows it: it was read
// at some moment between two of this process, and is counted on from there.
//
// At first it is the fence, which is no smaller than the server's clock when the batch was taken,
// counted on from before that turn was sent. So it is never slow: what is not over by it is not
// over. The server itself is asked, once for a batch, in two cases: something is over by this
// clock; or the batch may have been told before, and its fence is too old to count on from.
type Clock struct {
	*Server
	batch    Batch
	store    string    // a key of the slot
	fresh    bool      // the batch is surely told for the first time
	read     time.Time // of the server
	asked    time.Time // of this process, before that
	answered time.Time // and after it; zero: the server was not asked
}

// Start returns the clock of a batch with a fence, which was taken by a turn that was sent at a time.
func Start(s *Server, b Batch, store string, fence int64, sent time.Time, fresh bool) Clock {
	return Clock{Server: s, batch: b, store: store, fresh: fresh, read: time.UnixMicro(fence), asked: sent}
}

// latest and earliest are what the server's clock shows, at the most and at the least, at a time
// of this process.
func (c *Clock) latest(now time.Time) time.Time   { return c.read.Add(now.Sub(c.asked)) }
func (c *Clock) earliest(now time.Time) time.Time { return c.read.Add(now.Sub(c.answered)) }

// Past returns how long ago a moment of the server was; if that is not positive, it is not over
// yet. Both are sure. It is not known (not ok) if the server did not answer while the batch was
// held, or was not to be asked.
func (c *Clock) Past(moment time.Time, ask bool) (by time.Duration, ok bool) {
	if now := frozen.Clock(c.Redis); now != nil { // it stands still, in a test of a program that uses rmqtest
		return now().Sub(moment), true
	}
	for {
		now, known := time.Now(), !c.answered.IsZero()
		if by = c.latest(now).Sub(moment); by <= 0 && (known || c.fresh) {
			return by, true
		}
		if by = c.earliest(now).Sub(moment); known && by > 0 {
			return by, true
		}
		switch {
		case !ask:
			return 0, false
		case !known:
			ok = c.askTime()
		default: // it is between earliest and latest: soon even earliest is past it
			ok = wait.Sleep(c.Requests, 1-by)
		}
		if !ok {
			return 0, false
		}
	}
}

// askTime asks the slot's server for its time, and reports whether it has answered.
func (c *Clock) askTime() bool {
	for {
		asked := time.Now()
		node, _, err := cluster.MasterFor(c.Requests, c.Redis, c.store)
		if err == nil {
			var read time.Time
			if read, err = node.Time(c.Requests).Result(); err == nil {
				c.read, c.asked, c.answered = read, asked, time.Now()
				return true
			}
		}
		if !c.batch.AskAgain(err, "Redis does not say how late messages are; it is asked again") {
			return false
		}
	}
}
