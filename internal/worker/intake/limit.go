package intake

import (
	"math/rand/v2"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// Options are what a program allows a topic.
type Options struct {
	PerSecond   float64 // messages that begin in a second, in all workers together; 0: any number
	Burst       int     // of these may begin at once; 0: a twentieth
	Concurrency int     // handlers
	Timeless    bool    // the clock of Redis stands still, so there is no rate
}

// Limited is a topic in the schedule: a [schedule.Topic].
type Limited interface {
	SetRate(r schedule.Rate)
	Allow(by schedule.Limiter, places int)
}

// Limit has a topic go by its options and by the limit that a person has set: the smaller counts.
func Limit(t Limited, o Options, p protocol.Policy) {
	if p.Rate > 0 && (o.PerSecond == 0 || p.Rate < o.PerSecond) {
		o.PerSecond = p.Rate
		if usual := int(max(1, p.Rate/20)); o.Burst == 0 || usual < o.Burst {
			o.Burst = usual
		}
	}
	if o.Timeless {
		o.PerSecond, o.Burst = 0, 0
	}
	burst := float64(o.Burst)
	if o.Burst == 0 {
		burst = max(1, o.PerSecond/20)
	}
	t.SetRate(schedule.Rate{PerSecond: o.PerSecond, Burst: burst, Phase: rand.Float64()})
	most := o.Concurrency
	if p.Concurrency > 0 {
		most = min(most, p.Concurrency)
	}
	t.Allow(schedule.ByPolicy, most)
}
