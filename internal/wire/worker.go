package wire

import "github.com/slotmq/go-rmq/inspector"

// Worker is a worker, and the slots it has.
type Worker struct {
	Worker   string           `json:"worker"`
	Host     string           `json:"host,omitempty"`
	PID      int              `json:"pid,omitempty"`
	Version  string           `json:"version,omitempty"`
	Leaving  bool             `json:"leaving,omitempty"`
	Taker    bool             `json:"taker,omitempty"` // it takes batches for others: no slots are its own
	Until    Stamp            `json:"until,omitzero"`
	Assigned map[string][]int `json:"assigned"`
	Held     map[string][]int `json:"held,omitempty"`
	Probing  map[string]Stamp `json:"probing,omitempty"`
}

// WorkerOf is a worker.
func WorkerOf(w inspector.Worker) Worker {
	probing := map[string]Stamp{}
	for topic, since := range w.Probing {
		probing[topic] = At(since)
	}
	return Worker{w.ID, w.Host, w.PID, w.Version, w.Leaving, w.Taker, At(w.Until), w.Assigned, w.Held, probing}
}

// Unseen is a topic whose workers are not among the others.
type Unseen struct {
	Topic string `json:"unseen_topic"`
	Why   string `json:"why"`
}
