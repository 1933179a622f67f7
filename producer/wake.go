package producer

import (
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/luascripts"
)

// wakesApart is the least time between two publications of a writer that is always busy.
// When messages come that fast, the workers hardly sleep, and each publication costs them
// and Redis as much as a few messages.
const wakesApart = time.Millisecond

// planWakes collects the slots of a flight that have something new, for wake-ups of their
// workers. A wake-up is published after the answers to its flight, because a worker that
// looked earlier would find nothing. It goes with the next flight, or alone.
func (to *writer) planWakes(f *flight) {
	for i := range f.lanes {
		l := &f.lanes[i]
		due, found := int64(0), false
		f.each(l, func(e int32) {
			if f.errs != nil && f.errs[e] != nil && f.errs[e] != ErrNotReplicated && !errors.Is(f.errs[e], ErrUncertain) {
				return // not stored
			}
			if l.topic.Kind.FirstWins() && f.outcomes[e] == Merged {
				return // what it merged into has been announced
			}
			if !found || f.scores[e] < due {
				due, found = f.scores[e], true
			}
		})
		if !found {
			continue
		}
		in := time.Duration(0)
		if l.topic.Kind.Timed() {
			if now, err := to.clock.now(to.run, l.store()); err == nil {
				in = time.UnixMilli(due).Sub(now.at)
			}
		}
		to.wakes[l.topic] = luascripts.AppendWake(to.wakes[l.topic], l.slot, in)
	}
}

// publication is a wake-up on its way.
type publication struct {
	*redis.IntCmd
	topic *topic
}

// publications are the commands that publish what was planned.
func (to *writer) publications() []publication {
	all := make([]publication, 0, len(to.wakes))
	if len(to.wakes) > 0 {
		to.lastPublished = time.Now() // not when they arrive: that may take longer than wakesApart
	}
	for t, payload := range to.wakes {
		all = append(all, publication{redis.NewIntCmd(to.run, "publish", luascripts.WakeChannel(t.name), payload), t})
	}
	return all
}

// published forgets the wake-ups that Redis has taken, and those that it never will. The
// others go with the next write. A lost wake-up fails no send: the workers' safety look
// finds the messages.
func (to *writer) published(all []publication) {
	for _, x := range all {
		err := x.Err()
		if err == nil {
			to.silentSince = time.Time{}
		} else if to.silentSince.IsZero() {
			to.silentSince = time.Now()
		}
		if err != nil && passes(err) && time.Since(to.silentSince) < to.retryFor && to.run.Err() == nil {
			continue
		}
		if err != nil {
			to.cfg.Logger.Debug("wake-up was not published", zap.String("topic", x.topic.Name), zap.Error(err))
		}
		delete(to.wakes, x.topic)
	}
}
