package producer

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// Send stores one message and returns when Redis has answered. If ctx ends
// before the message is written, it is not sent; if it ends later, the error
// is [ErrUncertain].
func (p *Producer) Send(ctx context.Context, t message.Topic, m message.Message) (Receipt, error) {
	receipt, err := p.send(ctx, t, m)
	if err != nil {
		return receipt, fmt.Errorf("send to topic %s: %w", t.Name, err)
	}
	return receipt, nil
}

func (p *Producer) send(ctx context.Context, t message.Topic, m message.Message) (Receipt, error) {
	topic, now, err := p.prepare(ctx, t)
	if err != nil {
		return Receipt{}, err
	}
	body, err := message.Open(topic.Topic, m, now, p.cfg.MaxContent)
	if err != nil {
		return Receipt{}, err
	}
	slot := slots.Of(body.SlotBasis, topic.Slots)
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return Receipt{}, message.ErrClosed
	}
	f := p.open()
	f.refs.Add(1)
	entry := f.add(topic, slot, &body)
	p.startFlusher()
	p.mu.Unlock()

	defer f.release()
	if err := p.wait(ctx, f, entry, entry+1); err != nil {
		return Receipt{Slot: slot}, err
	}
	outcome, err := f.result(entry)
	return Receipt{Outcome: outcome, Slot: slot}, err
}

// SendBatch stores messages of one topic, in their order within each slot, and
// returns their receipts in the order given. If one message is invalid,
// nothing is sent and the error names its index. If some cannot be stored, the
// error is a [BatchError], and the receipts of the others are valid.
func (p *Producer) SendBatch(ctx context.Context, t message.Topic, ms []message.Message) ([]Receipt, error) {
	receipts, err := p.sendBatch(ctx, t, ms)
	if err != nil {
		return receipts, fmt.Errorf("send batch of %d to topic %s: %w", len(ms), t.Name, err)
	}
	return receipts, nil
}

// part is a stretch of a batch that lies in one flight.
type part struct {
	f        *flight
	from, to int // entries
}

func (p *Producer) sendBatch(ctx context.Context, t message.Topic, ms []message.Message) ([]Receipt, error) {
	topic, now, err := p.prepare(ctx, t)
	if err != nil {
		return nil, err
	}
	bodies := make([]message.Body, len(ms))
	receipts := make([]Receipt, len(ms))
	for i, m := range ms {
		if bodies[i], err = message.Open(topic.Topic, m, now, p.cfg.MaxContent); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		receipts[i].Slot = slots.Of(bodies[i].SlotBasis, topic.Slots)
	}
	if len(ms) == 0 {
		return receipts, nil
	}
	var parts []part
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, message.ErrClosed
	}
	for i := range bodies {
		f := p.open()
		entry := f.add(topic, receipts[i].Slot, &bodies[i])
		if last := len(parts) - 1; last >= 0 && parts[last].f == f {
			parts[last].to = entry + 1
		} else {
			f.refs.Add(1)
			parts = append(parts, part{f, entry, entry + 1})
		}
	}
	p.startFlusher()
	p.mu.Unlock()

	var failed BatchError
	i := 0
	for _, part := range parts {
		waitErr := p.wait(ctx, part.f, part.from, part.to)
		for entry := part.from; entry < part.to; entry++ {
			err := waitErr
			if err == nil {
				receipts[i].Outcome, err = part.f.result(entry)
			}
			if err != nil {
				failed.Indexes, failed.Errs = append(failed.Indexes, i), append(failed.Errs, err)
			}
			i++
		}
		part.f.release()
	}
	if failed.Indexes != nil {
		return receipts, &failed
	}
	return receipts, nil
}

// prepare makes sure that the topic's definition is agreed upon and, where the
// messages must be compared with it, tells the server's time.
func (p *Producer) prepare(ctx context.Context, t message.Topic) (topic *topic, now time.Time, err error) {
	if ctx == nil {
		return nil, now, errNilContext
	}
	if err := ctx.Err(); err != nil {
		return nil, now, err
	}
	if topic, err = p.topic(ctx, t); err != nil {
		return nil, now, err
	}
	if t.Kind == message.KindFixedTime {
		now, err = p.clock.at(ctx, topic.name)
	}
	return topic, now, err
}

// wait returns when the flight is done, or with an error when ctx ends before.
func (p *Producer) wait(ctx context.Context, f *flight, from, to int) error {
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.taken {
		select {
		case <-f.done:
			return nil
		default:
			return fmt.Errorf("%w: %w", ErrUncertain, ctx.Err())
		}
	}
	for entry := from; entry < to; entry++ {
		f.contents[entry] = "" // withdrawn: not written yet
	}
	return ctx.Err()
}
