package poll

import (
	"math/rand/v2"
	"sync"

	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// rate is that to which a person has limited a topic: it holds for takers, too, and is divided among the processes that take
// from the topic.
type rate struct {
	scheduled *schedule.Topic

	mu        sync.Mutex
	perSecond float64 // of all of them; 0: no limit
	processes int
}

// limit sets the rate of all processes.
func (r *rate) limit(perSecond float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.perSecond = perSecond
	r.divideLocked()
}

// share sets among how many processes it is divided.
func (r *rate) share(processes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if processes = max(processes, 1); processes != r.processes {
		r.processes = processes
		r.divideLocked()
	}
}

func (r *rate) divideLocked() {
	own := r.perSecond / float64(r.processes)
	r.scheduled.SetRate(schedule.Rate{PerSecond: own, Burst: max(1, own/20), Phase: rand.Float64()})
}
