package typed

import (
	"time"

	"github.com/slotmq/go-rmq/message"
)

// TTL is how long after its send the message may still be handled, in a topic with Notes.
func (how How) TTL(d time.Duration) How {
	return how.with(func(ttl *time.Duration, _ *map[string]string) { *ttl = d })
}

// Headers go with the message, in a topic with Notes: they are no part of its identity.
func (how How) Headers(headers map[string]string) How {
	return how.with(func(_ *time.Duration, to *map[string]string) { *to = headers })
}

// with sets fields that messages of all kinds have.
func (how How) with(set func(ttl *time.Duration, headers *map[string]string)) How {
	if how == nil {
		return nil // which Send refuses
	}
	return func(content, basis string) message.Message {
		switch m := how(content, basis).(type) {
		case message.RangeMerge:
			set(&m.TTL, &m.Headers)
			return m
		case message.Priority:
			set(&m.TTL, &m.Headers)
			return m
		case message.FixedTime:
			set(&m.TTL, &m.Headers)
			return m
		default: // of a function of your own: Send refuses it
			return m
		}
	}
}
