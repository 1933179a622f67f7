package producer

import (
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/luascripts"
)

// wakesApart is how long a line that is never at rest keeps wake-ups for the next
// publication. Where messages come that fast the workers hardly sleep, and each
// publication costs them and Redis as much as some messages do.
const wakesApart = time.Millisecond

// planWakes collects the slots of a flight in which something new waits, for
// the wake-ups of their topics' consumers. These are published after the
// replies of the flight they speak of, because a look before them would find
// nothing: with the next flight, or alone when none waits.
func (p *Producer) planWakes(to *line, f *flight) {
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
			if now, err := to.clock.now(p.run, l.store()); err == nil {
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
func (p *Producer) publications(to *line) []publication {
	all := make([]publication, 0, len(to.wakes))
	if len(to.wakes) > 0 {
		to.told = time.Now() // and not when they got through: that may take longer than they are to be apart
	}
	for t, payload := range to.wakes {
		all = append(all, publication{redis.NewIntCmd(p.run, "publish", luascripts.WakeChannel(t.name), payload), t})
	}
	return all
}

// published forgets the wake-ups that got through, and those that will not. The
// others go with the next write. None ever fails a send: the consumers' safety
// look makes up for them.
func (p *Producer) published(to *line, all []publication) {
	for _, x := range all {
		err := x.Err()
		if err == nil {
			to.silent = time.Time{}
		} else if to.silent.IsZero() {
			to.silent = time.Now()
		}
		if err != nil && passes(err) && time.Since(to.silent) < p.patience && p.run.Err() == nil {
			continue
		}
		if err != nil {
			p.cfg.Logger.Debug("wake-up was not published", zap.Error(err))
		}
		delete(to.wakes, x.topic)
	}
}
