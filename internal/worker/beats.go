package worker

import (
	"sync"
	"sync/atomic"
	"time"
)

// beats show whether writers come round.
type beats struct {
	mu    sync.Mutex
	all   map[*beat]struct{}
	ended int // writers that ended in the middle of their work
}

// beat is one writer's: since when it has been at work without a wait, in ns since epoch;
// 0 while it waits.
type beat struct{ since atomic.Int64 }

var epoch = time.Now().Add(-time.Hour)

func (b *beat) works(since time.Time) { b.since.Store(int64(since.Sub(epoch))) }
func (b *beat) waits()                { b.since.Store(0) }

func (b *beats) add() *beat {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = map[*beat]struct{}{}
	}
	one := new(beat)
	b.all[one] = struct{}{}
	return one
}

// remove takes out the beat of a writer that ends. One that is not through has had its goroutine
// ended by code that it called, with turns in its hands.
func (b *beats) remove(one *beat, through bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.all, one)
	if !through {
		b.ended++
	}
}

// missing is how many writers have ended in the middle of their work.
func (b *beats) missing() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended
}

// longest is for how long a writer has been at work, the one that is for the longest.
func (b *beats) longest() (d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Since(epoch)
	for one := range b.all {
		if since := one.since.Load(); since > 0 {
			d = max(d, now-time.Duration(since))
		}
	}
	return d
}
