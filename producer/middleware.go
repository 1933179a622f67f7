package producer

import (
	"context"
	"fmt"
	"slices"

	"github.com/slotmq/go-rmq/message"
)

// Sender sends messages, as a [Producer] does.
type Sender interface {
	Send(ctx context.Context, t message.Topic, m message.Message) (Receipt, error)
	SendBatch(ctx context.Context, t message.Topic, ms []message.Message) ([]Receipt, error)
}

// Middleware wraps what sends, to trace it, to check messages, or to change the topic. It
// runs in the goroutine of the caller and gets a context that is not nil. Pass a batch on
// as a batch, and the errors of the Sender within as they are: callers compare them.
type Middleware func(Sender) Sender

// wrap puts the middleware of the Config around the producer.
func (p *Producer) wrap() error {
	for i, m := range slices.Backward(p.cfg.SendMiddleware) {
		if p.wrapped == nil {
			p.wrapped = innermost{p}
		}
		if p.wrapped = m(p.wrapped); p.wrapped == nil {
			return fmt.Errorf("middleware %d returned no sender", i)
		}
	}
	return nil
}

// moved is a message in memory of its own, since middleware may keep it. If m itself were
// passed on, each Send would have to allocate its message, also without middleware. It is
// false for what Send refuses anyway: nil, and pointers.
func moved(m message.Message) (message.Message, bool) {
	c, valid := message.CommonOf(m)
	return message.With(m, c), valid
}

// innermost is the Sender inside all middleware.
type innermost struct{ p *Producer }

// Send is what Producer.Send does without middleware.
func (s innermost) Send(ctx context.Context, t message.Topic, m message.Message) (Receipt, error) {
	receipt, err := s.p.send(ctx, t, m)
	if err != nil {
		return receipt, sendError(t, err)
	}
	return receipt, nil
}

// SendBatch is what Producer.SendBatch does without middleware.
func (s innermost) SendBatch(ctx context.Context, t message.Topic, ms []message.Message) ([]Receipt, error) {
	receipts, err := s.p.sendBatch(ctx, t, ms)
	if err != nil {
		return receipts, fmt.Errorf("send batch of %d to topic %s: %w", len(ms), t.Name, err)
	}
	return receipts, nil
}
