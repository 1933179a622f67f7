package wire

import (
	"strings"

	"github.com/slotmq/go-rmq/inspector"
)

// Entry is a message and its place.
type Entry struct {
	Topic string `json:"topic,omitempty"`
	Shown
	Slot     int    `json:"slot"`
	State    string `json:"state"`
	Due      Stamp  `json:"due,omitzero"`
	Priority int64  `json:"priority,omitempty"`
	Attempt  int    `json:"attempt,omitempty"`
	Died     Stamp  `json:"died,omitzero"`
}

// EntryOf is an entry of a topic, which is left out if it has no name. With inBase64 its content is so in any case.
func EntryOf(topic string, e inspector.Entry, inBase64 bool) Entry {
	return Entry{topic, Show(e.Content, inBase64), e.Slot, string(e.State), At(e.Due), e.Priority, e.Attempt, At(e.Died)}
}

// Failure is what is known of failures.
type Failure struct {
	Attempts int    `json:"attempts"`
	First    Stamp  `json:"first,omitzero"`
	Last     Stamp  `json:"last,omitzero"`
	Priority int64  `json:"priority,omitempty"`
	Worker   string `json:"worker,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// failureOf is a failure, or nil.
func failureOf(f *inspector.Failure) *Failure {
	if f == nil {
		return nil
	}
	return &Failure{f.Attempts, At(f.First), At(f.Last), f.Priority, f.Worker, strings.ToValidUTF8(f.Reason, "\ufffd")}
}

// Note is what is known of the sends that merged into a message, in a topic with notes.
type Note struct {
	Sends   int               `json:"sends"`
	First   Stamp             `json:"first"`
	Last    Stamp             `json:"last"`
	Expires Stamp             `json:"expires,omitzero"`
	Headers map[string]string `json:"headers,omitempty"`
}

// noteOf is a note, or nil.
func noteOf(n *inspector.Note) *Note {
	if n == nil {
		return nil
	}
	return &Note{n.Sends, At(n.First), At(n.Last), At(n.Expires), n.Headers}
}
