package producer

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/wait"
)

// retryFor is how long a failed command is sent again before its callers get the error:
// a little longer than a quick failover takes. The flusher waits between two tries, each
// time twice as long.
const (
	retryFor              = 4 * time.Second
	firstPause, lastPause = 16 * time.Millisecond, 512 * time.Millisecond
)

// open returns the flight that messages may be added to. The caller holds p.mu.
func (l *writer) open() *flight {
	if n := len(l.queue); n > 0 && !l.queue[n-1].full() {
		return l.queue[n-1]
	}
	f := newFlight()
	l.queue = append(l.queue, f)
	return f
}

// startFlusher starts the writer's flusher unless it runs. The caller holds p.mu.
func (p *Producer) startFlusher(l *writer) {
	if !l.flushing {
		l.flushing = true
		p.busy++
		p.idle.Add(1)
		go p.flush(l)
	}
}

// flush writes flights until none waits. While it waits for the answers of
// one, the next fills.
func (p *Producer) flush(l *writer) {
	defer p.idle.Done()
	for {
		end := len(l.wakes) == 0
		f := p.take(l, end)
		if f == nil && end {
			return // another flusher of the writer may run already
		}
		p.write(l, f)
	}
}

// take returns the next flight, or nil. With end, nil also ends the flusher.
func (p *Producer) take(l *writer, end bool) *flight {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(l.queue) == 0 {
		if end {
			l.flushing = false
			p.busy--
		}
		return nil
	}
	f := l.queue[0]
	l.queue = slices.Delete(l.queue, 0, 1)
	f.taken = true
	return f
}

// write sends one flight, with the wake-ups of the one before, or these alone.
func (p *Producer) write(to *writer, f *flight) {
	if f == nil {
		all := p.publications(to)
		p.exec(to, all, nil)
		if p.published(to, all); len(to.wakes) > 0 {
			wait.Sleep(p.run, firstPause)
		}
		return
	}
	writes := p.commands(to, f)
	for begun, pause := time.Now(), firstPause; len(writes) > 0; pause = min(2*pause, lastPause) {
		var all []publication
		if time.Since(to.published) > wakesApart {
			all = p.publications(to)
		}
		p.exec(to, all, writes)
		p.published(to, all)
		over := time.Since(begun) > p.retryFor
		writes = inOrder(writes, func(w *write) bool { return !w.finish(p, f, over && !p.replaced(w)) })
		if len(writes) > 0 {
			to.clock.expire()
			wait.Sleep(p.run, pause/2+rand.N(pause))
		}
	}
	close(f.done)
	p.planWakes(to, f)
	f.release()
}

// replaced reports whether another server has the slot by now than the one that
// was tried: then another try may succeed at once.
func (p *Producer) replaced(w *write) bool {
	_, addr, err := cluster.MasterFor(p.run, p.rdb, w.lane.store())
	return err == nil && addr != w.tried
}
