package expiry

import (
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/internal/worker/verdict"
)

// Rules are those of a topic.
type Rules struct {
	MaxLate time.Duration // after a message was due; 0: it is never too late
	Drop    bool          // what comes too late is dropped; else it is dead
}

// Judge reports whether a message is in time that was due at a moment, and whose time to live ends at another; zero: it is not
// known when, or it has none. If it comes too late there is a verdict on it. It is not known (not ok) if Redis did not say, or was
// not to be asked: then the message must not be handled.
func (r Rules) Judge(c *Clock, due, end time.Time, ask bool) (v verdict.Verdict, inTime, ok bool) {
	var reason string
	if !due.IsZero() && r.MaxLate > 0 {
		by, ok := c.Past(due.Add(r.MaxLate), ask)
		if !ok {
			return v, false, false
		}
		if by > 0 {
			reason = fmt.Sprintf("expired: due %s, late by %v", stamp(due), (by + r.MaxLate).Round(time.Millisecond))
		}
	}
	if reason == "" && !end.IsZero() {
		by, ok := c.Past(end.Add(-1), ask) // at that moment it is over already
		if !ok {
			return v, false, false
		}
		if by > 0 {
			reason = fmt.Sprintf("expired: its time to live ended %s, %v ago", stamp(end), by.Round(time.Millisecond))
		}
	}
	if reason == "" {
		return v, true, true
	}
	v = verdict.Verdict{Fate: verdict.Dead, Reason: reason, Err: verdict.ErrExpired}
	if r.Drop {
		v.Fate = verdict.Dropped
	}
	return v, false, true
}

// stamp is a moment as reasons have it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
