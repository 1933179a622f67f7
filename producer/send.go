package producer

import (
	"context"
	"fmt"
	"slices"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/protocol/hash"
	"github.com/slotmq/go-rmq/message"
)

// Send stores one message and returns when Redis has answered. If ctx ends
// before the message is written, it is not sent; if it ends later, the error
// is [ErrUncertain]. A ctx without a deadline counts as ended after 6 s, or 1 s after the
// Redis client's ReadTimeout and the Timeout of Durability, if Redis is silent for that long.
func (p *Producer) Send(ctx context.Context, t message.Topic, m message.Message) (Receipt, error) {
	if p.wrapped != nil && ctx != nil {
		if m, valid := moved(m); valid {
			return p.wrapped.Send(ctx, t, m)
		}
	}
	receipt, err := p.send(ctx, t, m)
	if err != nil {
		return receipt, sendError(t, err)
	}
	return receipt, nil
}

func sendError(t message.Topic, err error) error {
	return fmt.Errorf("send to topic %s: %w", t.Name, err)
}

func (p *Producer) send(ctx context.Context, t message.Topic, m message.Message) (Receipt, error) {
	if err := p.ready(); err != nil {
		return Receipt{}, err
	}
	waits := p.waits(ctx)
	topic, err := p.prepare(&waits, t)
	if err != nil {
		return Receipt{}, err
	}
	o, err := p.open(&waits, topic, m)
	if err != nil {
		return Receipt{}, err
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return Receipt{}, message.ErrClosed
	}
	f := o.to.open()
	f.refs.Add(1)
	k := o.addTo(f, topic)
	o.to.start()
	p.mu.Unlock()

	defer f.release()
	return p.await(&waits, k)
}

// SendBatch stores messages of one topic, in their order within each slot, and
// returns their receipts in the order given. If one message is invalid,
// nothing is sent and the error names its index. If some cannot be stored, the
// error is a [message.BatchError], and the receipts of the others are valid.
func (p *Producer) SendBatch(ctx context.Context, t message.Topic, ms []message.Message) ([]Receipt, error) {
	if p.wrapped != nil && ctx != nil {
		return p.wrapped.SendBatch(ctx, t, ms)
	}
	return innermost{p}.SendBatch(ctx, t, ms)
}

func (p *Producer) sendBatch(ctx context.Context, t message.Topic, ms []message.Message) ([]Receipt, error) {
	if err := p.ready(); err != nil {
		return nil, err
	}
	waits := p.waits(ctx)
	topic, err := p.prepare(&waits, t)
	if err != nil {
		return nil, err
	}
	opened := make([]opened, len(ms))
	for i, m := range ms {
		if opened[i], err = p.open(&waits, topic, m); err != nil {
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
	for i := range opened {
		o := &opened[i]
		f := o.to.open()
		if !slices.Contains(mine, f) {
			f.refs.Add(1)
			mine = append(mine, f)
			o.to.start() // it waits for p.mu
		}
		tickets[i] = o.addTo(f, topic)
	}
	p.mu.Unlock()

	var failed message.BatchError
	receipts := make([]Receipt, len(ms))
	for i, k := range tickets {
		var err error
		if receipts[i], err = p.await(&waits, k); err != nil {
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
func (p *Producer) prepare(w *patience, t message.Topic) (*topic, error) {
	if w.ctx == nil {
		return nil, errNilContext
	}
	if err := w.ctx.Err(); err != nil {
		return nil, err
	}
	return p.topics.of(w, t)
}

// opened is a message that may be sent.
type opened struct {
	checked.Message
	slot int
	to   *writer // leads there
	past bool
}

// open validates a message, and finds its slot and the writer that leads there.
func (p *Producer) open(w *patience, t *topic, m message.Message) (o opened, err error) {
	if o.Message, err = checked.Open(t.Topic, m, p.cfg.MaxContent); err != nil {
		return o, err
	}
	if fields := fieldsOf(&o.Message); fields != 0 {
		if err = p.topics.allowed(w, t, fields); err != nil {
			return o, err
		}
	}
	o.slot = hash.Slot(o.SlotBasis, t.Slots)
	if o.to, err = p.writers.of(w.ctx, t, o.slot); err != nil || !o.Kind.Timed() || o.FromNow {
		return o, err
	}
	now, err := o.to.clock.lastKnown(w, t.slots[o.slot].store)
	if err != nil {
		return o, err
	}
	if o.past = o.Past(now.earliest()); o.past && p.cfg.RefusePast && !checked.IsSent(w.ctx) {
		return o, past(&o.Message, now.earliest(), 0)
	}
	if o.past && t.maxLate.Load() > 0 && !checked.IsSent(w.ctx) {
		if err := p.topics.tooLate(w, t, &o.Message, now.earliest()); err != nil {
			return o, err
		}
	}
	return o, o.Outlives(now.latest())
}

// ticket is a message's place in a flight.
type ticket struct {
	*flight
	entry int
	slot  int
	kind  message.Kind
	past  bool
}

// addTo adds the message to a flight. The caller holds shared.mu.
func (o *opened) addTo(f *flight, t *topic) ticket {
	return ticket{flight: f, entry: f.add(t, o.slot, &o.Message), slot: o.slot, kind: o.Kind, past: o.past}
}

// await returns what became of a message. If its caller stops waiting before it is written,
// it is withdrawn.
func (p *Producer) await(w *patience, k ticket) (Receipt, error) {
	for {
		late := w.wait(k.done, k.alarm)
		if late == nil {
			return k.receipt()
		}
		p.mu.Lock()
		switch {
		case isClosed(k.done):
			p.mu.Unlock()
			w.over = false
			return k.receipt()
		case w.over && (k.journaled || k.by.heard.Load() > int64(w.begun)):
			p.mu.Unlock() // Redis answers: the journal has a bound of its own, or other messages came first
			w.over = false
			continue
		case k.taken:
			late = fmt.Errorf("%w: %w", ErrUncertain, late)
		default:
			k.contents[k.entry] = "" // withdrawn
		}
		p.mu.Unlock()
		return Receipt{Slot: k.slot}, late
	}
}
