package wire

import (
	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/text/words"
)

// Missed is a part that could not be looked at: one line of rmq for each. See Missing.
type Missed struct {
	Topic  string `json:"topic"`
	Slot   *int   `json:"slot,omitempty"` // none: what is stored of the topic as a whole
	Server string `json:"server,omitempty"`
	Error  string `json:"error"`
}

// MissedOf is such a part.
func MissedOf(f inspector.Failed) Missed {
	j := Missed{Topic: f.Topic, Server: f.Server, Error: words.OneLine(f.Err.Error())}
	if f.Slot >= 0 {
		j.Slot = &f.Slot
	}
	return j
}
