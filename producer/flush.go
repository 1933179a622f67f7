package producer

import (
	"math/rand/v2"
	"slices"
	"time"
)

// tries is how often a command is sent before its failure is told. Between
// tries the flusher waits, each time four times as long.
const (
	tries      = 4
	firstPause = 16 * time.Millisecond
)

// open returns the flight that messages may be added to. The caller holds p.mu.
func (p *Producer) open() *flight {
	if n := len(p.queue); n > 0 && !p.queue[n-1].full() {
		return p.queue[n-1]
	}
	f := newFlight()
	p.queue = append(p.queue, f)
	return f
}

// startFlusher makes sure that the flusher lives. The caller holds p.mu.
func (p *Producer) startFlusher() {
	if !p.flushing {
		p.flushing = true
		p.idle.Add(1)
		go p.flush()
	}
}

// flush writes flights until none waits. While it waits for the answers of
// one, the next fills.
func (p *Producer) flush() {
	defer p.idle.Done()
	for {
		end := len(p.wakes) == 0
		f := p.take(end)
		if f == nil && end {
			return // another flusher may live already
		}
		p.write(f)
	}
}

// take returns the next flight, or nil. With end, nil also ends the flusher.
func (p *Producer) take(end bool) *flight {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		p.flushing = !end
		return nil
	}
	f := p.queue[0]
	p.queue = slices.Delete(p.queue, 0, 1)
	f.taken = true
	return f
}

// write sends one flight, with the wake-ups of the one before.
func (p *Producer) write(f *flight) {
	wakes := p.takeWakes()
	if f == nil {
		p.scripts.Exec(p.run, wakes...)
		p.logWakes(wakes)
		return
	}
	writes := p.commands(f)
	pause := firstPause
	for try := 1; len(writes)+len(wakes) > 0; try++ {
		p.exec(wakes, writes)
		p.logWakes(wakes)
		wakes = nil
		again := writes[:0]
		for _, w := range writes {
			if !w.finish(p, f, try == tries) {
				again = append(again, w)
			}
		}
		if writes = again; len(writes) > 0 {
			p.clock.expire()
			p.rest(pause/2 + rand.N(pause))
			pause *= 4
		}
	}
	p.planWakes(f)
	close(f.done)
	f.release()
}

// rest waits, unless Close gives up.
func (p *Producer) rest(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.run.Done():
	}
}
