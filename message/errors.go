package message

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

var (
	// ErrInvalid matches every [InvalidError]: the call was refused because of
	// what was passed in, nothing was stored, and repeating it is useless.
	ErrInvalid = errors.New("invalid")

	// ErrTopicConflict is returned by the first Send to a topic, by Start and
	// by the look every 30 s after them, when the topic is already defined
	// differently. One name has one definition for ever.
	ErrTopicConflict = errors.New("topic is already defined differently")

	// ErrClosed is returned by whatever is called after Close.
	ErrClosed = errors.New("used after Close")

	// ErrNotJournaled is returned by a send that waits for the journal: Redis has the message, and
	// the journal could not be made to have it in time. The message is handled as any other.
	ErrNotJournaled = errors.New("stored, but not in the journal")
)

// InvalidError names what was refused.
type InvalidError struct {
	Field string // such as "Priority" or "Topic.Slots"
	Value string // what was passed
	Limit string // what it must be
}

func (e *InvalidError) Error() string {
	return e.Field + " is " + e.Value + "; it must be " + e.Limit
}

// Is makes every InvalidError match [ErrInvalid].
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// BatchError says which messages of a SendBatch may not be stored.
// The receipts of all others are valid.
type BatchError struct {
	Indexes []int   // of those messages, in order
	Errs    []error // why, in the same order
}

func (e *BatchError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of the batch failed:", len(e.Indexes))
	for i, index := range e.Indexes {
		if i == 3 {
			b.WriteString(" …")
			break
		}
		fmt.Fprintf(&b, " message %d: %v;", index, e.Errs[i])
	}
	return strings.TrimSuffix(b.String(), ";")
}

// Unwrap lets errors.Is and errors.As look at each message's error.
func (e *BatchError) Unwrap() []error { return e.Errs }

func invalid(field, value, limit string) error {
	return &InvalidError{Field: field, Value: value, Limit: limit}
}

// quote shortens what was passed, so that an error stays one readable line.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strconv.Quote(s)
}
