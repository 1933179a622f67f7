package wire

import (
	"time"

	"github.com/slotmq/go-rmq/inspector"
)

// Dead is a dead message, as it is listed and exported.
type Dead struct {
	Shown
	Slot     int    `json:"slot"`
	Died     Stamp  `json:"died"`
	Attempts int    `json:"attempts,omitempty"`
	First    Stamp  `json:"first_failure,omitzero"`
	Last     Stamp  `json:"last_failure,omitzero"`
	Worker   string `json:"worker,omitempty"`
	Priority int64  `json:"priority,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// DeadOf is a dead message, with its content in base64 in any case if that is wanted.
func DeadOf(e inspector.Entry, inBase64 bool) Dead {
	j := Dead{Shown: Show(e.Content, inBase64), Slot: e.Slot, Died: At(e.Died)}
	if f := failureOf(e.Failure); f != nil {
		j.Attempts, j.First, j.Last, j.Worker, j.Priority, j.Reason = f.Attempts, f.First, f.Last, f.Worker, f.Priority, f.Reason
	}
	return j
}

// Reason is why messages are dead.
type Reason struct {
	Topic  string `json:"topic"`
	Reason string `json:"reason,omitempty"` // none: it is not known
	Rest   bool   `json:"rest,omitempty"`   // of all other reasons
	Count  int    `json:"count"`
	First  Stamp  `json:"first_died"`
	Last   Stamp  `json:"last_died"`
	Latest Dead   `json:"latest"`
	Cut    bool   `json:"latest_cut,omitempty"` // the content of the latest is only its beginning
}

// ReasonOf is that, with contents in base64 in any case if that is wanted.
func ReasonOf(topic string, r inspector.Reason, inBase64 bool) Reason {
	return Reason{topic, r.Text, r.Rest, r.Count, At(r.First), At(r.Last), DeadOf(r.Latest, inBase64), r.Cut}
}

// Requeued is what became of dead messages that were to be delivered again.
type Requeued struct {
	Topic string `json:"topic"`
	inspector.Requeued
	GoOn string `json:"go_on,omitempty"` // if it was interrupted: how to go on
}

// WouldRequeue is how many it would be.
type WouldRequeue struct {
	Topic string `json:"topic"`
	Would int    `json:"would_requeue"`
}

// Deleted is how many dead messages are gone for ever.
type Deleted struct {
	Topic   string `json:"topic"`
	Deleted int    `json:"deleted"`
	Lost    int    `json:"lost,omitempty"`  // may be deleted
	GoOn    string `json:"go_on,omitempty"` // if it was interrupted: how to go on
}

// WouldDelete is how many it would be.
type WouldDelete struct {
	Topic string `json:"topic"`
	Would int    `json:"would_delete"`
}

// Purged is what was deleted from a topic, by the state it was in.
type Purged struct {
	Topic string `json:"topic"`
	inspector.Purged
	GoOn string `json:"go_on,omitempty"` // if it was interrupted: how to go on
}

// WouldPurge is how many it would be.
type WouldPurge struct {
	Topic string `json:"topic"`
	Would int    `json:"would_delete"`
	inspector.Purged
}

// Aged narrows a query to those that have been dead for longer than one age, and for less than another; 0: any.
func Aged(q *inspector.DeadQuery, now time.Time, olderThan, newerThan time.Duration) {
	if olderThan != 0 {
		before := now.Add(time.Millisecond).Add(-olderThan)
		if q.OlderThan.IsZero() || before.Before(q.OlderThan) {
			q.OlderThan = before
		}
	}
	q.OlderThan = q.OlderThan.Truncate(time.Millisecond)
	if newerThan != 0 {
		if after := now.Add(-newerThan).Truncate(time.Millisecond); after.After(q.NewerThan) {
			q.NewerThan = after
		}
	}
}
