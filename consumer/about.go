package consumer

import (
	"fmt"

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

// text is what was said about messages of the batch, such as an error of a handler, without
// their contents if these are hidden. It is shortened last: half a content would not be found.
func (b *batch) text(said any) string {
	text := fmt.Sprint(said)
	if b.hide {
		b.hideOnce.Do(func() { b.hider = logs.Without(b.answer.Contents...) })
		text = b.hider.Replace(text)
	}
	return logs.Shorten(text)
}

// aboutDeath are the fields of a line about a death that could not be reported, or, with nil,
// about deaths that could not be read.
func (c *Consumer) aboutDeath(d *protocol.Death, err error) []zap.Field {
	hide := logs.Privacy(c.cfg.HideContents)
	if d == nil {
		return []zap.Field{zap.Error(err)}
	}
	text := fmt.Sprint(err)
	if hide {
		text = logs.Without(d.Content).Replace(text)
	}
	return append(hide.Content(d.Content), zap.String("error", logs.Shorten(text)))
}
