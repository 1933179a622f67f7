package typed

import (
	"time"

	"github.com/slotmq/go-rmq/message"
)

// Unique has an equal message be a duplicate for so long: see [message.Message].
func (how How) Unique(d time.Duration) How {
	return how.with(func(c *message.Common) { c.Unique = d })
}

// TTL is how long after its send the message may still be handled, in a topic with Notes.
func (how How) TTL(d time.Duration) How {
	return how.with(func(c *message.Common) { c.TTL = d })
}

// Headers go with the message, in a topic with Notes: they are no part of its identity.
func (how How) Headers(headers map[string]string) How {
	return how.with(func(c *message.Common) { c.Headers = headers })
}

// with sets a field that messages of all kinds have. What Send refuses, such as the nil of a function of your own, stays so.
func (how How) with(set func(c *message.Common)) How {
	if how == nil {
		return nil // which Send refuses
	}
	return func(content, basis string) message.Message {
		m := how(content, basis)
		c, ok := message.CommonOf(m)
		if !ok {
			return m
		}
		set(&c)
		return message.With(m, c)
	}
}
