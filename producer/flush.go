package producer

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// A wake-up must come behind the commands that store its message, in the same write or later (see announce): a worker
// that looks earlier finds nothing and sleeps on. Those that wait for answers travel with the next flight, since a round
// trip of their own would slow every send. If no flight follows, they go alone.

// Wake-ups wait for each other. A busy writer publishes once in a millisecond at most. Each wake-up costs Redis,
// and every worker that gets it, as much as some messages; and workers hardly sleep while messages come that fast.

// retryFor is how long a failed command is sent again before its callers get the error:
// a little longer than a quick failover takes. The flusher waits between two tries, each
// time twice as long.
const (
	retryFor              = 4 * time.Second
	firstPause, lastPause = 16 * time.Millisecond, 512 * time.Millisecond
)

// open returns the flight that messages may be added to. The caller holds to.mu.
func (to *writer) open() *flight {
	if n := len(to.queue); n > 0 && !to.queue[n-1].full() {
		return to.queue[n-1]
	}
	f := newFlight()
	alarm := make(chan struct{})
	f.by, f.alarm, f.ringer = to, alarm, time.AfterFunc(to.sendTimeout, func() { close(alarm) })
	to.queue = append(to.queue, f)
	return f
}

// start starts the writer's flusher unless it runs. The caller holds to.mu.
func (to *writer) start() {
	if !to.flushing {
		to.flushing = true
		to.busy++
		to.idle.Add(1)
		go to.flush()
	}
}

// flush writes flights until none waits. While it waits for the answers of
// one, the next fills.
func (to *writer) flush() {
	defer to.idle.Done()
	for {
		end := len(to.wakes) == 0
		f := to.take(end)
		if f == nil && end {
			return // another flusher of the writer may run already
		}
		to.write(f)
	}
}

// take returns the next flight, or nil. With end, nil also ends the flusher.
func (to *writer) take(end bool) *flight {
	to.mu.Lock()
	defer to.mu.Unlock()
	if len(to.queue) == 0 {
		if end {
			to.flushing = false
			to.busy--
		}
		return nil
	}
	f := to.queue[0]
	to.queue = slices.Delete(to.queue, 0, 1)
	f.taken = true
	return f
}

// write sends one flight and its wake-ups, or only those that are left of the flights before.
func (to *writer) write(f *flight) {
	if f == nil {
		all := to.publications()
		to.executor.exec(to, all, nil)
		if to.published(all); len(to.wakes) > 0 && !to.silentSince.IsZero() {
			wait.Sleep(to.run, firstPause)
		}
		return
	}
	begun := time.Now()
	writes, tried := to.commands(f), false
	for pause := firstPause; len(writes) > 0; pause = min(2*pause, lastPause) {
		var all []publication
		if time.Since(to.lastPublished) > wakesApart {
			if !tried {
				to.announce(f)
			}
			all = to.publications()
		}
		tried = true
		if !to.executor.exec(to, all, writes) {
			f.unannounce()
		}
		to.published(all)
		if slices.ContainsFunc(writes, func(w *write) bool { return w.Err() == nil }) {
			to.heard.Store(int64(time.Since(epoch)))
		}
		over := time.Since(begun) > to.retryFor
		writes = inOrder(writes, func(w *write) bool { return !w.finish(to, f, over && !to.replaced(w)) })
		if len(writes) > 0 {
			f.unannounce()
			to.clock.expire()
			wait.Sleep(to.run, pause/2+rand.N(pause))
		}
	}
	if to.observers != nil {
		to.show(f, begun)
	}
	to.written(f)
}

// written ends a flight that has its answers. If there is a journal, the senders get them when the
// journal has answered.
func (to *writer) written(f *flight) {
	if to.cfg.Journal != nil {
		to.planWakes(f)
		to.journal(f)
		f.release()
		return
	}
	close(f.done)
	to.planWakes(f)
	f.release()
}

// replaced reports whether the slot is now on another server than the one that was
// tried: then another try may succeed at once.
func (to *writer) replaced(w *write) bool {
	_, addr, err := cluster.MasterFor(to.run, to.rdb, w.lane.store())
	return err == nil && addr != w.tried
}
