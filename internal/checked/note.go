package checked

import (
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/slotmq/go-rmq/internal/limits"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// note checks what only a topic with notes can keep of a message, and returns it as it is sent.
func (c *Message) note(t message.Topic, ttl time.Duration, headers map[string]string) (string, error) {
	const without = "left out: the topic has no Notes, and a topic never changes. Define another one with Topic.Notes"
	switch {
	case t.Notes:
	case ttl != 0:
		return "", invalid("TTL", ttl.String(), without)
	default:
		return "", invalid("Headers", "set", without)
	}
	if ttl != 0 {
		if err := span("TTL", ttl); err != nil {
			return "", err
		}
		if c.FromNow && ttl.Milliseconds() <= c.Value {
			wait := time.Duration(c.Value) * time.Millisecond
			return "", invalid("TTL", ttl.String(), "longer than the message waits, which is "+wait.String())
		}
	}
	if err := checkHeaders(headers); err != nil {
		return "", err
	}
	return luascripts.NoteArg(ttl.Milliseconds(), headers), nil // rounded down: never handled later
}

func checkHeaders(headers map[string]string) error {
	const field = "Headers"
	if n := len(headers); n > limits.Headers {
		return invalid(field, strconv.Itoa(n), "at most "+strconv.Itoa(limits.Headers))
	}
	bytes := 0
	for key, value := range headers {
		if key == "" {
			return invalid(field, "an empty key", "with a name for each value")
		}
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return invalid(field, quote(key)+": "+quote(value), "valid UTF-8")
		}
		bytes += len(key) + len(value)
	}
	if bytes > limits.HeaderBytes {
		return invalid(field, strconv.Itoa(bytes)+" bytes", "at most "+strconv.Itoa(limits.HeaderBytes)+" bytes, keys and values together")
	}
	return nil
}
