package wire

import "github.com/slotmq/go-rmq/inspector"

// Slot is who has a slot, and what is in it.
type Slot struct {
	Topic string `json:"topic"`
	Slot  int    `json:"slot"`
	Counts
	Next      Stamp  `json:"next,omitzero"`
	Priority  int64  `json:"priority,omitempty"`
	Worker    string `json:"worker,omitempty"`
	Unseen    bool   `json:"worker_unseen,omitempty"` // it is not known who it is
	Holder    string `json:"holder,omitempty"`
	Since     Stamp  `json:"since,omitzero"`
	Attempt   int    `json:"attempt,omitempty"`
	LeaseEnds Stamp  `json:"lease_ends,omitzero"`
	Paused    Stamp  `json:"paused,omitzero"`
}

// SlotOf is a slot of a topic.
func SlotOf(topic string, s inspector.Slot) Slot {
	return Slot{
		Topic: topic, Slot: s.Index, Counts: countsOf(s.Counts, s.Overdue), Next: At(s.Next), Priority: s.Priority,
		Worker: s.Worker, Unseen: s.Unseen, Holder: s.Holder, Since: At(s.Since), Attempt: s.Attempt, LeaseEnds: At(s.LeaseEnds), Paused: At(s.Paused),
	}
}

// Paused is how many slots a pause was about, or its end, and how many it changed.
type Paused struct {
	Topic   string `json:"topic"`
	Slots   int    `json:"slots"`
	Changed int    `json:"changed"`
}
