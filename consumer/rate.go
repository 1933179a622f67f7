package consumer

import (
	"strconv"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/servers/frozen"
	"github.com/slotmq/go-rmq/internal/worker/intake"
)

// Rate is how many messages of a topic all its workers begin together. A worker with a quarter
// of the slots has a quarter of the rate; so it is the same however many workers there are.
// Give all of them the same Rate. A delivery counts when its handler is called; what is handed
// back before does not. In a batch each message counts, and no call has more of them than may
// begin then: for large calls set Burst.
//
// While more is due than the rate allows, the slots take turns: one waits (Slots + Burst) /
// PerSecond seconds at the longest, which is 11 minutes for 64 slots and 0.1 a second. What is
// begun is finished and reported at once, and other topics have the places meanwhile. With
// package rmqtest, whose clock stands still, a Rate has no effect.
type Rate struct {
	// PerSecond is how many begin in a second, from 0.001 (3.6 an hour) to 1000000. Defaults
	// to 0: any number.
	PerSecond float64

	// Burst is how many may begin at once after a time with less to do, in all workers
	// together, from 1 to 1000000; each worker may begin one in any case. Defaults to PerSecond
	// / 20, and at least 1: so no second has more than 5 % too many.
	Burst int
}

func (r Rate) validate() error {
	switch {
	case r == Rate{}:
		return nil
	case !limits.Rate(r.PerSecond):
		return refuse("ListenOptions.Rate.PerSecond", strconv.FormatFloat(r.PerSecond, 'g', -1, 64), "from 0.001 to 1000000, or no Rate at all")
	case r.Burst < 0 || r.Burst > limits.FastestRate:
		return refuse("ListenOptions.Rate.Burst", r.Burst, "1 to 1000000, or 0 for a twentieth of PerSecond")
	}
	return nil
}

// limit has a topic go by its options and by the limit that a person has set.
func (w *running) limit(t *topic, p protocol.Policy) {
	o := t.opts
	intake.Limit(t.scheduled, intake.Options{
		PerSecond: o.Rate.PerSecond, Burst: o.Rate.Burst, Concurrency: o.Concurrency, Timeless: frozen.Clock(w.turns.rdb) != nil, // as in package rmqtest
	}, p)
}
