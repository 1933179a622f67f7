package producer

import (
	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/servers/rights"
	"github.com/slotmq/go-rmq/internal/servers/silence"
)

// Rights are asked for when they are needed. The rights for Extend and Unique are asked for before the first message
// that has one of them, those for notes with the definition. A program that uses neither needs no right for
// them.

// fieldsOf are the fields of a message that not every message of its topic has. They need rights of
// their own.
func fieldsOf(b *checked.Message) (fields protocol.SendFields) {
	if b.Ceiling > 0 {
		fields |= protocol.SendCeiling
	}
	if b.Unique > 0 {
		fields |= protocol.SendUnique
	}
	return fields
}

// allowed asks, before the first message with some fields, whether the Redis user may send it. So
// a program that sends none needs no rights for them. An error names all rights that are missing,
// and the next message asks again.
func (s *topics) allowed(w *patience, t *topic, fields protocol.SendFields) error {
	if protocol.SendFields(t.may.Load())&fields == fields {
		return nil
	}
	return s.checkRights(t, fields).wait(w)
}

// checkRights starts one question about fields for all callers that wait.
func (s *topics) checkRights(t *topic, fields protocol.SendFields) *check {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.asking[fields]; c != nil {
		return c
	}
	c := &check{done: make(chan struct{})}
	need := rights.Need{Extends: fields&protocol.SendCeiling != 0, Unique: fields&protocol.SendUnique != 0}
	begun := s.goBackground(func() {
		c.err = silence.Explain(s.rdb, rights.Check(s.run, s.rdb, need, t.rights()))
		t.mu.Lock()
		defer t.mu.Unlock()
		if delete(t.asking, fields); c.err == nil {
			t.may.Or(uint32(fields))
		}
		close(c.done)
	})
	if !begun {
		return nil
	}
	if t.asking == nil {
		t.asking = map[protocol.SendFields]*check{}
	}
	t.asking[fields] = c
	return c
}

// rights is the topic as its rights are asked for.
func (t *topic) rights() rights.Topic {
	return rights.Topic{Name: t.name, Slots: definition.Full(t.Topic).Slots, Notes: t.Notes}
}
