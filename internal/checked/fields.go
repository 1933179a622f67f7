package checked

import (
	"errors"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/message"
)

// Priority checks the priority of a message.
func Priority(p int64) error {
	if p < limits.MinPriority || p > limits.MaxScore {
		return Invalid("Priority", strconv.FormatInt(p, 10), "17 to 9007199254740991 (2^53 - 1)")
	}
	return nil
}

// Due checks when a message of a fixed time is due. Exactly one of at and in is given.
func Due(at time.Time, in time.Duration) error {
	switch {
	case in == 0:
		return checkAt(at)
	case !at.IsZero():
		return Invalid("In", in.String(), "0 where At is given: one of the two")
	}
	return span("In", in)
}

// ceiling checks how far later sends may move a range merge.
func ceiling(m message.RangeMerge) error {
	const field = "Ceiling"
	switch value := m.Ceiling.String(); {
	case !m.Extend:
		return Invalid(field, value, "0 where Extend is not set")
	case m.Ceiling == 0:
		return Invalid(field, "not set", "larger than Range where Extend is set (for a message that any number of sends may move, use a FixedTime with In)")
	case m.Ceiling <= m.Range:
		return Invalid(field, value, "larger than Range, which is "+m.Range.String())
	}
	return span(field, m.Ceiling)
}

// minAt: an earlier time is most likely in seconds, where milliseconds are expected.
var minAt = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

var maxAt = time.UnixMilli(limits.MaxTime).Add(-1)

func checkAt(at time.Time) error {
	const field = "At"
	switch {
	case at.IsZero():
		return Invalid(field, "the zero time", "a time (time.Now() for now), unless In is 1ms or more")
	case at.Before(minAt):
		return Invalid(field, at.UTC().Format(time.RFC3339Nano), "in the year 2000 at the earliest (did you pass seconds as milliseconds?)")
	case at.After(maxAt):
		return Invalid(field, "in the year "+strconv.Itoa(at.Year()), "in the year 9999 at the latest (did you pass microseconds as milliseconds?)")
	}
	return nil
}

// span checks a time to wait. Times are stored in milliseconds, so one below is most
// likely a number without its unit.
func span(field string, d time.Duration) error {
	limit := "at least 1ms and at most 10 years"
	switch {
	case d > 0 && d < time.Millisecond:
		return Invalid(field, d.String(), limit+" (did you mean "+strconv.FormatInt(int64(d), 10)+" * time.Millisecond?)")
	case d <= 0 || d > limits.Span:
		return Invalid(field, d.String(), limit)
	}
	return nil
}

// Namespace checks what stands in front of topic names. The empty one is allowed: it gives
// the documented keys.
func Namespace(ns string) error {
	if ns == "" {
		return nil
	}
	// The same rules as those of a topic's name.
	err := message.Topic{Name: ns, Kind: message.KindPriority}.Validate()
	var wrong *message.InvalidError
	if errors.As(err, &wrong) {
		return Invalid("Namespace", wrong.Value, wrong.Limit)
	}
	return err
}

// Invalid is the error about a field that is not as it must be.
func Invalid(field, value, limit string) error {
	return &message.InvalidError{Field: field, Value: value, Limit: limit}
}

// Quote shortens what was passed, so that an error stays one readable line.
func Quote(s string) string {
	const most = 60
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strconv.Quote(s)
}
