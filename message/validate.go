package message

import (
	"strconv"
	"time"
)

// Limits of a message.
const (
	// MinPriority is above every number of retries left, which share the
	// store's scores in literal topics.
	MinPriority = MaxRetries + 1
	// MaxPriority is the largest integer a Redis score holds exactly.
	MaxPriority = 1<<53 - 1

	// MaxRange keeps a slip in the unit from hiding a message for a lifetime.
	MaxRange = 10 * 365 * 24 * time.Hour

	// DefaultMaxContent is the largest content in bytes unless the producer
	// says otherwise; MaxMaxContent is the most it may say.
	DefaultMaxContent = 256 << 10
	MaxMaxContent     = 64 << 20
)

var maxAt = time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)

// minAt: an earlier time is most likely a number of seconds that was taken for
// milliseconds.
var minAt = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Body is a message taken apart: what its kinds have in common, and the one
// number that is special to each.
type Body struct {
	Kind      Kind
	Content   string
	SlotBasis string // never empty
	// Value is the priority, or when the message is due: in ms since 1970, or
	// FromNow in ms after the server's time at the send. Parts of a millisecond
	// are rounded up: never early.
	Value   int64
	FromNow bool
}

// Open validates m for topic t and takes it apart. maxContent bounds the content
// in bytes. Whether a time has passed is for [Body.Past] to tell.
func Open(t Topic, m Message, maxContent int) (Body, error) {
	var b Body
	var err error
	// A type switch and no method call: so that a message passed by value
	// need not be moved to the heap.
	switch m := m.(type) {
	case RangeMerge:
		b = Body{Kind: KindRangeMerge, Content: m.Content, SlotBasis: m.SlotBasis, Value: ceilMillis(m.Range), FromNow: true}
		err = validateSpan("Range", m.Range)
	case Priority:
		b = Body{Kind: KindPriority, Content: m.Content, SlotBasis: m.SlotBasis, Value: m.Priority}
		if m.Priority < MinPriority || m.Priority > MaxPriority {
			err = invalid("Priority", strconv.FormatInt(m.Priority, 10), "17 to 9007199254740991 (2^53 - 1)")
		}
	case FixedTime:
		b = Body{Kind: KindFixedTime, Content: m.Content, SlotBasis: m.SlotBasis, Value: ceilUnixMilli(m.At)}
		switch {
		case m.In == 0:
			err = validateAt(m.At)
		case !m.At.IsZero():
			err = invalid("In", m.In.String(), "0 where At is given: one of the two")
		default:
			b.Value, b.FromNow = ceilMillis(m.In), true
			err = validateSpan("In", m.In)
		}
	case nil:
		return b, invalid("Message", "nil", "a RangeMerge, a Priority or a FixedTime")
	default:
		return b, invalid("Message", "a pointer", "a RangeMerge, a Priority or a FixedTime, by value")
	}
	if b.Kind != t.Kind {
		return b, invalid("Message", b.Kind.String(), "of the kind of topic "+quote(t.Name)+": "+t.Kind.String())
	}
	if err != nil {
		return b, err
	}
	if n := len(b.Content); n == 0 || n > maxContent {
		return b, invalid("Content", strconv.Itoa(n)+" bytes long", "1 to "+strconv.Itoa(maxContent)+" bytes")
	}
	if b.SlotBasis == "" {
		b.SlotBasis = b.Content
	}
	return b, nil
}

func validateAt(at time.Time) error {
	const field = "At"
	switch {
	case at.IsZero():
		return invalid(field, "the zero time", "a time, unless In says how long from now")
	case at.Before(minAt):
		return invalid(field, at.UTC().Format(time.RFC3339Nano), "in the year 2000 at the earliest (did you pass seconds as milliseconds?)")
	case at.After(maxAt):
		return invalid(field, "in the year "+strconv.Itoa(at.Year()), "in the year 9999 at the latest (did you pass microseconds as milliseconds?)")
	}
	return nil
}

// validateSpan refuses what is no time to wait. Times are stored in milliseconds,
// so one below is most likely a number without its unit.
func validateSpan(field string, d time.Duration) error {
	limit := "at least 1ms and at most 10 years"
	switch {
	case d > 0 && d < time.Millisecond:
		return invalid(field, d.String(), limit+" (did you mean "+strconv.FormatInt(int64(d), 10)+" * time.Millisecond?)")
	case d <= 0 || d > MaxRange:
		return invalid(field, d.String(), limit)
	}
	return nil
}

// Past reports whether the message has a time that is over at now, the time of
// the server that is to have it.
func (b *Body) Past(now time.Time) bool {
	return b.Kind == KindFixedTime && !b.FromNow && b.Value <= now.UnixMilli()
}

func ceilMillis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

func ceilUnixMilli(t time.Time) int64 {
	return t.Add(time.Millisecond - 1).UnixMilli()
}
