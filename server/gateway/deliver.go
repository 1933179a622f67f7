package gateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

// item is a message on its way.
type item struct {
	line   int // in a stream
	draft  wire.Draft
	unread error // why it could not be read

	receipt producer.Receipt
	err     error
	wrong   bool // it was not tried to send it: it is not valid
}

// note keeps a message that was read, or why it could not be.
func (x *item) note(d wire.Draft, err error) {
	var field *wire.FieldError
	if x.draft = d; err != nil && !errors.As(err, &field) {
		err = badRequest("%s", plain(err))
	}
	x.unread = err
}

// deliver sends messages together, and notes what becomes of each. The error is one of the request as a whole.
func (c *call) deliver(asked defining, items []item) error {
	ctx, cancel := context.WithTimeout(c.ctx(), c.answerWithin)
	defer cancel()
	for again := true; ; again = false {
		t, _, err := c.definition(asked)
		if err != nil {
			return err
		}
		err = c.deliverTo(ctx, t, items)
		if !errors.Is(err, message.ErrTopicConflict) || !again {
			return err
		}
		c.defined.forget(t.Name) // somebody has deleted it, and defined it differently
	}
}

func (c *call) deliverTo(ctx context.Context, t message.Topic, items []item) error {
	messages, which := make([]message.Message, 0, len(items)), make([]*item, 0, len(items))
	for n := range items {
		x := &items[n]
		var m message.Message
		if x.err = x.unread; x.err == nil {
			m, x.err = x.draft.Message(t)
		}
		if size := len(x.draft.Content); x.err == nil && size > c.cfg.MaxContent { // the producer would refuse all of them
			x.err = invalid("content", fmt.Sprintf("%d bytes", size), fmt.Sprintf("1 to %d bytes", c.cfg.MaxContent))
		}
		if x.wrong = x.err != nil; !x.wrong {
			messages, which = append(messages, m), append(which, x)
		}
	}
	if len(messages) == 0 {
		return nil
	}
	receipts, err := c.producer.SendBatch(ctx, t, messages)
	var some *producer.BatchError
	switch {
	case err == nil || errors.As(err, &some):
		for n, x := range which {
			x.receipt = receipts[n]
		}
		if some != nil {
			for n, index := range some.Indexes {
				which[index].err = some.Errs[n]
			}
		}
	case errors.Is(err, message.ErrInvalid) && len(messages) > 1:
		// One is over before it is due, or too late, by the clock of Redis, so none was sent. One by one, the others are.
		for n, x := range which {
			x.receipt, x.err = c.producer.Send(ctx, t, messages[n])
			x.wrong = errors.Is(x.err, message.ErrInvalid)
		}
	default:
		return err
	}
	return nil
}
