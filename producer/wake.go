package producer

import (
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

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
			if l.topic.Kind == message.KindRangeMerge && f.outcomes[e] == Merged {
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
		if l.topic.Kind != message.KindPriority {
			if now, err := to.clock.now(p.run, l.store()); err == nil {
				in = time.UnixMilli(due).Sub(now)
			}
		}
		to.wakes[l.topic] = luascripts.AppendWake(to.wakes[l.topic], l.slot, in)
	}
}

// takeWakes returns the commands that publish what was planned.
func (p *Producer) takeWakes(to *line) []redis.Cmder {
	cmds := make([]redis.Cmder, 0, len(to.wakes))
	for t, payload := range to.wakes {
		cmds = append(cmds, redis.NewIntCmd(p.run, "publish", luascripts.WakeChannel(t.name), payload))
	}
	clear(to.wakes)
	return cmds
}

// logWakes notes wake-ups that failed. They never fail a send: the consumers'
// safety look makes up for them.
func (p *Producer) logWakes(cmds []redis.Cmder) {
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil {
			p.cfg.Logger.Debug("wake-up was not published", zap.Error(err))
		}
	}
}
