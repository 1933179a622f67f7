package message

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
)

// MaxRetries is how often a failed message is delivered again: one first
// delivery and sixteen retries make seventeen, then it is dead.
const MaxRetries = limits.Retries

// Topic is a name and its definition. One name has one definition for ever: a
// producer or consumer that brings a different one is refused with
// [ErrTopicConflict].
type Topic struct {
	// Name is part of every key of the topic. 1 to 200 bytes of valid UTF-8
	// without '{', '}', '/' and control characters.
	Name string

	// Kind of its messages. Required.
	Kind Kind

	// Slots is the number of independent queues the topic is spread over: a
	// power of two up to 65536. It can never be changed, because the slot of
	// a stored message cannot be computed again. Defaults to what the topic has,
	// and to 64 if it is new.
	Slots int

	// Literal topics send a failed message straight back to the store with
	// its remaining retries as score, without waiting: the published form of
	// the design. Defaults to false: failures wait for their back-off.
	Literal bool

	// Notes keeps beside each message that waits how often and when it was sent,
	// and allows messages a TTL and Headers. A send then costs Redis up to three
	// times as much. Programs that know no notes refuse such a topic. Defaults to
	// false.
	Notes bool
}

// Validate reports the first field that cannot be accepted, as an
// [InvalidError].
func (t Topic) Validate() error {
	if err := validateName("Topic.Name", t.Name); err != nil {
		return err
	}
	if err := t.Kind.valid(); err != nil {
		return err
	}
	if s := t.Slots; s < 0 || s > limits.Slots || s&(s-1) != 0 {
		return invalid("Topic.Slots", strconv.Itoa(s), "a power of two from 1 to 65536, or 0 for what the topic has")
	}
	return nil
}

// validateName keeps out what would break a key: braces end or begin the hash
// tag of a Redis Cluster, so two keys of one slot could fall apart.
func validateName(field, name string) error {
	switch {
	case name == "":
		return invalid(field, `""`, "1 to 200 bytes")
	case len(name) > limits.NameBytes:
		return invalid(field, quote(name)+" ("+strconv.Itoa(len(name))+" bytes)", "1 to 200 bytes")
	case !utf8.ValidString(name):
		return invalid(field, quote(name), "valid UTF-8")
	}
	forbidden := func(r rune) bool { return r == '{' || r == '}' || r == '/' || r < ' ' || r >= 0x7f && r < 0xa0 }
	if strings.ContainsFunc(name, forbidden) {
		return invalid(field, quote(name), "free of '{', '}', '/' and control characters")
	}
	return nil
}
