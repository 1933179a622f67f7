package typed

import (
	"time"

	"github.com/slotmq/go-rmq/message"
)

// Unique has an equal message be a duplicate for so long: see [message.Message].
func (how How) Unique(d time.Duration) How {
	return how.with(func(of fields) { *of.unique = d })
}

// TTL is how long after its send the message may still be handled, in a topic with Notes.
func (how How) TTL(d time.Duration) How {
	return how.with(func(of fields) { *of.ttl = d })
}

// Headers go with the message, in a topic with Notes: they are no part of its identity.
func (how How) Headers(headers map[string]string) How {
	return how.with(func(of fields) { *of.headers = headers })
}

// fields are those that messages of all kinds have.
type fields struct {
	unique, ttl *time.Duration
	headers     *map[string]string
}

// with sets such a field.
func (how How) with(set func(of fields)) How {
	if how == nil {
		return nil // which Send refuses
	}
	return func(content, basis string) message.Message {
		switch m := how(content, basis).(type) {
		case message.RangeMerge:
			set(fields{&m.Unique, &m.TTL, &m.Headers})
			return m
		case message.Priority:
			set(fields{&m.Unique, &m.TTL, &m.Headers})
			return m
		case message.FixedTime:
			set(fields{&m.Unique, &m.TTL, &m.Headers})
			return m
		default: // of a function of your own: Send refuses it
			return m
		}
	}
}
