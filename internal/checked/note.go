package checked

import (
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/message"
)

// note checks what only a topic with notes can keep of a message, and returns it as send.lua reads it.
func (c *Message) note(t message.Topic, ttl time.Duration, headers map[string]string) (string, error) {
	const without = "left out: the topic has no Notes, and a topic never changes. Define another one with Topic.Notes"
	switch {
	case t.Notes:
	case ttl != 0:
		return "", Invalid("TTL", ttl.String(), without)
	default:
		return "", Invalid("Headers", "set", without)
	}
	if ttl != 0 {
		if err := span("TTL", ttl); err != nil {
			return "", err
		}
		if c.TTL = ttl.Milliseconds(); c.FromNow { // rounded down: never handled later
			if err := c.outlives(c.Value); err != nil {
				return "", err
			}
		}
	}
	if err := checkHeaders(headers); err != nil {
		return "", err
	}
	return protocol.NoteArg(c.TTL, headers), nil
}

// Outlives checks that the message has not expired when it is due, if it is sent at now, the time of
// the server that will store it. It is for a message that is due at a time.
func (c *Message) Outlives(now time.Time) error { return c.outlives(c.Value - now.UnixMilli()) }

// outlives checks that the message has not expired when it has waited for so many ms.
func (c *Message) outlives(wait int64) error {
	if c.TTL == 0 || c.TTL > wait {
		return nil
	}
	ms := func(n int64) string { return (time.Duration(n) * time.Millisecond).String() }
	return Invalid("TTL", ms(c.TTL), "longer than the message waits, which is "+ms(wait))
}

func checkHeaders(headers map[string]string) error {
	const field = "Headers"
	if n := len(headers); n > limits.Headers {
		return Invalid(field, strconv.Itoa(n), "at most "+strconv.Itoa(limits.Headers))
	}
	bytes := 0
	for key, value := range headers {
		if key == "" {
			return Invalid(field, "an empty key", "with a name for each value")
		}
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return Invalid(field, Quote(key)+": "+Quote(value), "valid UTF-8")
		}
		bytes += len(key) + len(value)
	}
	if bytes > limits.HeaderBytes {
		return Invalid(field, strconv.Itoa(bytes)+" bytes", "at most "+strconv.Itoa(limits.HeaderBytes)+" bytes, keys and values together")
	}
	return nil
}
