package producer

import (
	"context"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/definition"
	"github.com/slotmq/go-rmq/internal/rights"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// fieldsOf are those that not every message of the topic has, and that need rights of their own.
func fieldsOf(b *checked.Message) (fields luascripts.SendFields) {
	if b.Ceiling > 0 {
		fields |= luascripts.SendCeiling
	}
	if b.Unique > 0 {
		fields |= luascripts.SendUnique
	}
	return fields
}

// allowed asks, before the first message with some fields, whether the Redis user may send it:
// so whoever sends none needs no rights for it. A user who may not is told all that is missing,
// and the next message asks again.
func (s *topics) allowed(ctx context.Context, t *topic, fields luascripts.SendFields) error {
	if luascripts.SendFields(t.may.Load())&fields == fields {
		return nil
	}
	c := s.question(t, fields)
	if c == nil {
		return message.ErrClosed
	}
	return c.wait(ctx)
}

// question starts one question about fields for all callers that wait. It is nil once the
// producer is closed.
func (s *topics) question(t *topic, fields luascripts.SendFields) *comparison {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.asked[fields]; c != nil {
		return c
	}
	c := &comparison{done: make(chan struct{})}
	begun := s.goBackground(func() {
		c.err = rights.Check(s.run, s.rdb, rights.Need{Extends: fields&luascripts.SendCeiling != 0, Unique: fields&luascripts.SendUnique != 0}, t.rights())
		t.mu.Lock()
		defer t.mu.Unlock()
		if delete(t.asked, fields); c.err == nil {
			t.may.Or(uint32(fields))
		}
		close(c.done)
	})
	if !begun {
		return nil
	}
	if t.asked == nil {
		t.asked = map[luascripts.SendFields]*comparison{}
	}
	t.asked[fields] = c
	return c
}

// rights is the topic as its rights are asked for.
func (t *topic) rights() rights.Topic {
	return rights.Topic{Name: t.name, Slots: definition.Full(t.Topic).Slots, Notes: t.Notes}
}
