package console

import (
	"slices"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/inspector"
)

// past is how many messages each topic had in the last half hour, for the small charts.
type past struct {
	mu   sync.Mutex
	owed map[string][]int // by topic: what waits and is retried, at each step
	last time.Time
}

const (
	pastStep  = 15 * time.Second
	pastSteps = 120
)

func newPast() *past { return &past{owed: map[string][]int{}} }

// add notes what topics have now, unless the last time was just before.
func (p *past) add(now time.Time, all []inspector.Stats) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.last) < pastStep*9/10 {
		return
	}
	p.last = now
	there := map[string]bool{}
	for _, s := range all {
		there[s.Topic.Name] = true
		kept := append(p.owed[s.Topic.Name], s.Waiting+s.Retrying)
		p.owed[s.Topic.Name] = kept[max(0, len(kept)-pastSteps):]
	}
	for name := range p.owed {
		if !there[name] {
			delete(p.owed, name)
		}
	}
}

// of is how many messages a topic owed in the last half hour, and now.
func (p *past) of(topic string, now int) []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append(slices.Clone(p.owed[topic]), now)
}
