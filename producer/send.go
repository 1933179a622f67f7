package producer

import (
	"context"
	"fmt"
	"slices"

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
	topic, err := p.prepare(ctx, t)
	if err != nil {
		return Receipt{}, err
	}
	body, slot, to, err := p.open(ctx, topic, m)
	if err != nil {
		return Receipt{}, err
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return Receipt{}, message.ErrClosed
	}
	f := to.open()
	f.refs.Add(1)
	k := ticket{f, f.add(topic, slot, &body)}
	p.startFlusher(to)
	p.mu.Unlock()

	defer f.release()
	outcome, err := p.await(ctx, k)
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

func (p *Producer) sendBatch(ctx context.Context, t message.Topic, ms []message.Message) ([]Receipt, error) {
	topic, err := p.prepare(ctx, t)
	if err != nil {
		return nil, err
	}
	bodies := make([]message.Body, len(ms))
	lines := make([]*line, len(ms))
	receipts := make([]Receipt, len(ms))
	for i, m := range ms {
		if bodies[i], receipts[i].Slot, lines[i], err = p.open(ctx, topic, m); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	tickets := make([]ticket, len(ms))
	var mine []*flight // a few of them at the most
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, message.ErrClosed
	}
	for i, to := range lines {
		f := to.open()
		if !slices.Contains(mine, f) {
			f.refs.Add(1)
			mine = append(mine, f)
			p.startFlusher(to) // which waits for p.mu
		}
		tickets[i] = ticket{f, f.add(topic, receipts[i].Slot, &bodies[i])}
	}
	p.mu.Unlock()

	var failed BatchError
	for i, k := range tickets {
		var err error
		if receipts[i].Outcome, err = p.await(ctx, k); err != nil {
			failed.Indexes, failed.Errs = append(failed.Indexes, i), append(failed.Errs, err)
		}
	}
	for _, f := range mine {
		f.release()
	}
	if failed.Indexes != nil {
		return receipts, &failed
	}
	return receipts, nil
}

// prepare makes sure that the topic's definition is agreed upon.
func (p *Producer) prepare(ctx context.Context, t message.Topic) (*topic, error) {
	if ctx == nil {
		return nil, errNilContext
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return p.topic(ctx, t)
}

// open validates a message, and tells its slot and the line that leads there.
func (p *Producer) open(ctx context.Context, t *topic, m message.Message) (b message.Body, slot int, to *line, err error) {
	if b, err = message.Open(t.Topic, m, p.cfg.MaxContent); err != nil {
		return b, 0, nil, err
	}
	slot = slots.Of(b.SlotBasis, t.Slots)
	if to, err = p.line(ctx, t, slot); err != nil || t.Kind != message.KindFixedTime {
		return b, slot, to, err
	}
	now, err := to.clock.about(ctx, t.slots[slot].store)
	if err == nil {
		err = b.After(now)
	}
	return b, slot, to, err
}

// ticket is a message's place in a flight.
type ticket struct {
	*flight
	entry int
}

// await returns what became of a message. If ctx ends before it is written, it
// is withdrawn.
func (p *Producer) await(ctx context.Context, k ticket) (Outcome, error) {
	select {
	case <-k.done:
		return k.result(k.entry)
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-k.done:
		return k.result(k.entry)
	default:
	}
	if k.taken {
		return Accepted, fmt.Errorf("%w: %w", ErrUncertain, ctx.Err())
	}
	k.contents[k.entry] = "" // withdrawn
	return Accepted, ctx.Err()
}
