package rmqprom

import (
	"context"
	"sync/atomic"

	"github.com/slotmq/go-rmq/consumer"
)

// handlers counts those that run now, in parts that lie apart in memory: one number for all
// would travel between the processors with each message.
type handlers struct {
	wanted atomic.Bool // the middleware is in use
	parts  [16]struct {
		running atomic.Int64
		_       [56]byte
	}
}

// of is the part of the handlers of a slot.
func (h *handlers) of(slot int) *atomic.Int64 { return &h.parts[slot%len(h.parts)].running }

// running is how many run now.
func (h *handlers) running() (n int64) {
	for i := range h.parts {
		n += h.parts[i].running.Load()
	}
	return n
}

// Middleware counts the handlers that run now, as rmq_handlers_running: an event comes only
// when one has ended.
func (m *Metrics) Middleware(next consumer.MessageListener) consumer.MessageListener {
	m.handlers.wanted.Store(true)
	return consumer.ListenerFunc(func(ctx context.Context, d *consumer.Delivery) error {
		running := m.handlers.of(d.Slot)
		running.Add(1)
		defer running.Add(-1)
		return next.OnMessage(ctx, d)
	})
}

// BatchMiddleware counts calls of batch listeners, as Middleware counts handlers.
func (m *Metrics) BatchMiddleware(next consumer.BatchListener) consumer.BatchListener {
	m.handlers.wanted.Store(true)
	return consumer.BatchFunc(func(ctx context.Context, b *consumer.Batch) error {
		running := m.handlers.of(b.Slot)
		running.Add(1)
		defer running.Add(-1)
		return next.OnBatch(ctx, b)
	})
}
