package poll

import (
	"math/rand/v2"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// A limit that a person has set to the topic holds for takers, too. Its rate is divided among the processes that take from
// the topic. Its concurrency counts the batches that this process has given out, until it finishes them or
// their time to run is over.

// setLimit has the desk go by a limit. The zero Policy is none.
func (d *desk) setLimit(p protocol.Policy) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.limit = p
	d.pace()
	d.admit()
}

// setOthers notes how many processes take from the topic.
func (d *desk) setOthers(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n = max(n, 1); n != d.others {
		d.others = n
		d.pace()
	}
}

// pace sets the rate of this process. It runs with d.mu held.
func (d *desk) pace() {
	r := d.limit.Rate / float64(d.others)
	d.scheduled.SetRate(schedule.Rate{PerSecond: r, Burst: max(1, r/20), Phase: rand.Float64()})
}

// admit has as many turns taken as takers wait, and a limit allows. It runs with d.mu held.
func (d *desk) admit() {
	n := len(d.seats)
	if most := d.limit.Concurrency; most > 0 {
		d.dropOver(time.Now())
		n = min(n, max(0, most-len(d.out)))
	}
	d.scheduled.Allow(schedule.ByFlow, n)
}

// dropOver forgets batches whose time to run is over, and comes back when that of the next one is. It runs with
// d.mu held.
func (d *desk) dropOver(now time.Time) {
	next := time.Time{}
	for slot, until := range d.out {
		if !until.After(now) {
			delete(d.out, slot)
		} else if next.IsZero() || until.Before(next) {
			next = until
		}
	}
	if d.recount != nil {
		d.recount.Stop()
	}
	if !next.IsZero() {
		d.recount = time.AfterFunc(next.Sub(now), func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.admit()
		})
	}
}

// gone notes that a batch is out.
func (d *desk) gone(slot int, until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.out[slot] = until
	d.admit()
}

// extended notes that a batch is out for longer.
func (d *desk) extended(slot int, until time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, out := d.out[slot]; out {
		d.out[slot] = until
		d.admit()
	}
}

// back notes that no batch of this process is out any more in a slot.
func (d *desk) back(slot int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, was := d.out[slot]; was {
		delete(d.out, slot)
		d.admit()
	}
}
