package wire

import "github.com/slotmq/go-rmq/inspector"

// Worker is a worker, and the slots it has.
type Worker struct {
	Worker   string           `json:"worker"`
	Host     string           `json:"host,omitempty"`
	PID      int              `json:"pid,omitempty"`
	Version  string           `json:"version,omitempty"`
	Leaving  bool             `json:"leaving,omitempty"`
	Unlisted bool             `json:"unlisted,omitempty"` // only what runs there is known of it
	Taker    bool             `json:"taker,omitempty"`    // it takes batches for others: no slots are its own
	Until    Stamp            `json:"until,omitzero"`
	Assigned map[string][]int `json:"assigned"`
	Held     map[string][]int `json:"held,omitempty"`
	Probing  map[string]Stamp `json:"probing,omitempty"`
	Running  []Running        `json:"running,omitempty"`
}

// Running is a handler that has run for long. The content is that of the first of its messages, 200 bytes of it at most.
type Running struct {
	Topic   string `json:"topic"`
	Slot    int    `json:"slot"`
	Worker  string `json:"worker"`
	Since   Stamp  `json:"since"`
	Timeout Millis `json:"timeout_ms"`
	Count   int    `json:"count"`
	Shown
}

// RunningOf is that, with the content in base64 in any case if that is wanted.
func RunningOf(r inspector.Running, inBase64 bool) Running {
	return Running{r.Topic, r.Slot, r.Worker, At(r.Since), Millis(r.Timeout), r.Count, Show(r.Content, inBase64)}
}

// WorkerOf is a worker, with contents in base64 in any case if that is wanted.
func WorkerOf(w inspector.Worker, inBase64 bool) Worker {
	var running []Running
	for _, r := range w.Running {
		running = append(running, RunningOf(r, inBase64))
	}
	probing := map[string]Stamp{}
	for topic, since := range w.Probing {
		probing[topic] = At(since)
	}
	return Worker{w.ID, w.Host, w.PID, w.Version, w.Leaving, w.Unlisted, w.Taker, At(w.Until), w.Assigned, w.Held, probing, running}
}

// Vanished is a worker that ceased to share topics without a word. It was last seen up to a lease before.
type Vanished struct {
	Worker string   `json:"vanished_worker"`
	Topics []string `json:"topics"`
	Until  Stamp    `json:"until"`
}

// VanishedOf is such a worker.
func VanishedOf(v inspector.Vanished) Vanished { return Vanished{v.Worker, v.Topics, At(v.Until)} }

// Unseen is a topic whose workers are not among the others.
type Unseen struct {
	Topic string `json:"unseen_topic"`
	Why   string `json:"why"`
}
