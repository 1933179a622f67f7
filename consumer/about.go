package consumer

import (
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/logs"
	"github.com/slotmq/go-rmq/internal/protocol"
)

// What the log says about messages.

// about are the fields that every line about a message has, before those of its own.
func (b *batch) about(d *Delivery, more ...zap.Field) []zap.Field {
	fields := append(make([]zap.Field, 0, 4+len(more)), zap.String("topic", d.Topic.Name), zap.Int("slot", d.Slot))
	fields = append(fields, b.hide.Content(d.Content)...)
	return append(append(fields, zap.Int("attempt", d.Attempt)), more...)
}

// aboutDeath are the fields of a line about a death that could not be reported, or, with nil,
// about deaths that could not be read.
func aboutDeath(hide logs.Privacy, d *protocol.Death, err error) []zap.Field {
	if d == nil {
		return []zap.Field{zap.Error(err)}
	}
	texts := logs.Texts{Privacy: hide, Contents: []string{d.Content}}
	return append(texts.Content(d.Content), zap.String("error", texts.Of(err)))
}
