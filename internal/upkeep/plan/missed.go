package plan

import (
	"time"

	"github.com/slotmq/go-rmq/message"
)

// late is by how much a time may be over and still be sent with MissedSkip.
const late = time.Minute

// Due says what to do at now about the time that is planned next. at is the time to send; it is the
// zero time if nothing is due yet, or if all that is due is left out. next is the time to plan then;
// it is the zero time if the rule is over. What is sent makes up for all other times that have passed.
func (r *Rule) Due(base, planned, now time.Time) (at, next time.Time) {
	if planned.After(now) {
		return time.Time{}, planned
	}
	if r.message.Missed == message.MissedSkip && now.Sub(planned) > late {
		planned, _ = r.Next(base, now.Add(-late-time.Millisecond))
		if planned.After(now) {
			return time.Time{}, planned
		}
	}
	next, _ = r.Next(base, now)
	return planned, next
}
