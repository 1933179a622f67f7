package plan

import (
	"time"

	"github.com/slotmq/go-rmq/message"
)

// late is how much later than planned a time may be sent that is not to be made up for.
const late = time.Minute

// Due says what is to be done at now about the time that is planned next: what is to be sent, and
// what is planned then. Nothing is to be sent, and at is the zero time, if it is not due yet, or if
// all that is due is left out. If next is the zero time, the rule is over. Whatever else has passed
// by now is made up for by what is sent.
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
