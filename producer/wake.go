package producer

import (
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// wake is a wake-up of one topic's consumers. It is published after the
// replies of the flight it speaks of, because a look before them would find
// nothing: with the next flight, or alone when none waits.
type wake struct {
	topic   *topic
	payload []byte
}

// planWakes collects the slots of a flight in which something new waits.
func (p *Producer) planWakes(f *flight) {
	byTopic := map[*topic]int{}
	for i := range f.lanes {
		l := &f.lanes[i]
		due, found := int64(0), false
		f.each(l, func(e int32) {
			if f.errs != nil && f.errs[e] != nil && f.errs[e] != ErrNotReplicated {
				return
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
			if now, err := p.clock.at(p.run, l.topic.store(l.slot)); err == nil {
				in = time.UnixMilli(due).Sub(now)
			}
		}
		at, known := byTopic[l.topic]
		if !known {
			at = len(p.wakes)
			byTopic[l.topic] = at
			p.wakes = append(p.wakes, wake{topic: l.topic})
		}
		p.wakes[at].payload = luascripts.AppendWake(p.wakes[at].payload, l.slot, in)
	}
}

// takeWakes returns the commands that publish what was planned.
func (p *Producer) takeWakes() []redis.Cmder {
	cmds := make([]redis.Cmder, len(p.wakes))
	for i, w := range p.wakes {
		cmds[i] = redis.NewIntCmd(p.run, "publish", luascripts.WakeChannel(w.topic.name), w.payload)
	}
	p.wakes = p.wakes[:0]
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
