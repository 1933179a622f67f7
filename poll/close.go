package poll

import (
	"time"

	"go.uber.org/zap"
)

// A desk is closed when nobody has come for a while, or with its poller.

// idleDesk is how long a desk stays open when nobody takes.
const idleDesk = time.Minute

// closeIfIdle closes the desk if nobody waits, and nothing is under way. While a limit counts batches that are
// out, it stays: the next desk would not know of them.
func (d *desk) closeIfIdle() {
	d.mu.Lock()
	d.dropOver(time.Now())
	counts := d.limit.Concurrency > 0 && len(d.out) > 0
	if busy, _ := d.schedule.Busy(); len(d.seats) > 0 || d.serving > 0 || busy > 0 || counts {
		d.idle.Reset(d.idleAfter)
		d.mu.Unlock()
		return
	}
	begun := d.endLocked(nil)
	d.mu.Unlock()
	if begun {
		d.wind(nil)
	}
}

// close closes the desk, whatever goes on there. Turns that are under way are waited for: what they take is given back.
func (d *desk) close(why error) {
	<-d.opened
	d.mu.Lock()
	begun := d.failed == nil && d.endLocked(why)
	d.mu.Unlock()
	if !begun {
		<-d.closed
		return
	}
	d.wind(why)
}

// endLocked begins to close the desk. It is false if that has begun already.
func (d *desk) endLocked(why error) bool {
	if d.ending {
		return false
	}
	d.ending, d.trouble = true, why
	d.idle.Stop()
	if d.recount != nil {
		d.recount.Stop()
	}
	for _, s := range d.asking {
		s.tell()
	}
	d.asking = nil
	if d.given {
		d.schedule.Close()
	}
	return true
}

// wind ends the work of the desk.
func (d *desk) wind(why error) {
	d.life.EndBackground()
	d.schedule.Stop()
	d.schedule.WaitIdle()
	d.schedule.Close()
	d.life.EndListening()
	d.life.Wait()
	d.policies.End()
	d.delist(d.life.Requests)
	d.life.End(why)
	d.forget(d)
	d.log.Debug("desk closed", zap.String("topic", d.name))
}

// abandon has the desk be closed without waiting: its turns may have no answer. What they have taken comes again when
// its time to run is over.
func (d *desk) abandon(why error) {
	d.life.End(why)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.given = true
	if d.ending {
		d.schedule.Close()
	}
}
