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

// minAt is 10^11 ms: an earlier time is most likely a number of seconds that
// was taken for milliseconds.
var minAt = time.UnixMilli(1e11)

// Body is a message taken apart: what its kinds have in common, and the one
// number that is special to each.
type Body struct {
	Kind      Kind
	Content   string
	SlotBasis string // never empty
	// Value is the range in ms, the priority, or the time in ms since 1970.
	// Parts of a millisecond are rounded up: never early.
	Value int64
}

// Open validates m for topic t and takes it apart. maxContent bounds the content
// in bytes. That a FixedTime lies ahead is for [Body.After] to tell.
func Open(t Topic, m Message, maxContent int) (Body, error) {
	var b Body
	var err error
	// A type switch and no method call: so that a message passed by value
	// need not be moved to the heap.
	switch m := m.(type) {
	case RangeMerge:
		b = Body{Kind: KindRangeMerge, Content: m.Content, SlotBasis: m.SlotBasis, Value: ceilMillis(m.Range)}
		if m.Range <= 0 || m.Range > MaxRange {
			err = invalid("Range", m.Range.String(), "above 0 and at most 10 years")
		}
	case Priority:
		b = Body{Kind: KindPriority, Content: m.Content, SlotBasis: m.SlotBasis, Value: m.Priority}
		if m.Priority < MinPriority || m.Priority > MaxPriority {
			err = invalid("Priority", strconv.FormatInt(m.Priority, 10), "17 to 9007199254740991 (2^53 - 1)")
		}
	case FixedTime:
		b = Body{Kind: KindFixedTime, Content: m.Content, SlotBasis: m.SlotBasis}
		if err = validateAt(m.At); err == nil {
			b.Value = ceilUnixMilli(m.At)
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
		return invalid(field, "the zero time", "a time in the future")
	case at.Before(minAt):
		return invalid(field, at.UTC().Format(time.RFC3339Nano), "a time in the future (did you pass seconds as milliseconds?)")
	case at.After(maxAt):
		return invalid(field, "in the year "+strconv.Itoa(at.Year()), "in the year 9999 at the latest (did you pass microseconds as milliseconds?)")
	}
	return nil
}

// After refuses a FixedTime that is not after now, the time of the server that
// is to have it.
func (b *Body) After(now time.Time) error {
	if at := time.UnixMilli(b.Value); !at.After(now) {
		return invalid("At", at.UTC().Format(time.RFC3339Nano), "after the server's clock, "+now.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

func ceilMillis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

func ceilUnixMilli(t time.Time) int64 {
	return t.Add(time.Millisecond - 1).UnixMilli()
}
