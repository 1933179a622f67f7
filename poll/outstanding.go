package poll

import (
	"sync"
	"time"
)

// outstanding is what this process has taken from a topic and not finished. The concurrency to which a person has limited the topic
// counts these batches, until they are finished or their time to run is over. It ends no batch.
type outstanding struct {
	changed func() // there may be room for more or fewer

	mu      sync.Mutex
	most    int               // 0: no limit
	until   map[int]time.Time // by slot
	recount *time.Timer       // when the next of these is over; nil: none was
}

// limit sets how many there may be; 0: any number.
func (o *outstanding) limit(most int) {
	o.mu.Lock()
	o.most = most
	o.mu.Unlock()
	o.changed()
}

// room is how many more of n there may be.
func (o *outstanding) room(n int) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.most == 0 {
		return n
	}
	o.dropLocked(time.Now())
	return min(n, max(0, o.most-len(o.until)))
}

// counts reports whether a limit counts batches that are out.
func (o *outstanding) counts() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropLocked(time.Now())
	return o.most > 0 && len(o.until) > 0
}

// dropLocked forgets batches whose time to run is over, and comes back when that of the next one is.
func (o *outstanding) dropLocked(now time.Time) {
	next := time.Time{}
	for slot, until := range o.until {
		if !until.After(now) {
			delete(o.until, slot)
		} else if next.IsZero() || until.Before(next) {
			next = until
		}
	}
	if o.recount != nil {
		o.recount.Stop()
	}
	if !next.IsZero() {
		o.recount = time.AfterFunc(next.Sub(now), o.changed)
	}
}

// add notes that a batch is out.
func (o *outstanding) add(slot int, until time.Time) {
	o.change(func() { o.until[slot] = until })
}

// extend notes that a batch is out for longer.
func (o *outstanding) extend(slot int, until time.Time) {
	o.change(func() {
		if _, out := o.until[slot]; out {
			o.until[slot] = until
		}
	})
}

// remove notes that no batch of this process is out any more in a slot.
func (o *outstanding) remove(slot int) {
	o.change(func() { delete(o.until, slot) })
}

func (o *outstanding) change(f func()) {
	o.mu.Lock()
	f()
	limited := o.most > 0
	o.mu.Unlock()
	if limited {
		o.changed()
	}
}

// stop ends the recount.
func (o *outstanding) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.recount != nil {
		o.recount.Stop()
	}
}
