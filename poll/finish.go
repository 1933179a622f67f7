package poll

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/text/words"
)

// ErrUncertain is found by errors.Is in the error of a Finish of which nobody knows whether it counted: Redis
// did not answer in time, or its answers got lost. If it did not count, the messages come again when their time to run is over.
var ErrUncertain = errors.New("it is not known whether it counted")

// Finish says what became of a batch: what no verdict is about is done. It reports whether that counted. It did
// not if the time to run was over and another one was given the messages; or if the batch was finished before, by
// you as well: a Finish that counted and is repeated does not count again, and changes nothing.
func (p *Poller) Finish(ctx context.Context, receipt string, verdicts ...Verdict) (counted bool, err error) {
	r, err := parseReceipt(receipt)
	if err == nil {
		for _, v := range verdicts {
			if err == nil {
				err = v.validate()
			}
		}
	}
	if err == nil {
		err = p.begin()
	}
	if err == nil {
		defer p.calls.Done()
		counted, err = p.finish(ctx, r, nil, verdicts)
	}
	if err != nil {
		return false, fmt.Errorf("finish: %w", p.explain(err))
	}
	return counted, nil
}

// finish finishes a batch. Its contents are read if they are needed and not known.
func (p *Poller) finish(ctx context.Context, r *receipt, contents []string, verdicts []Verdict) (counted bool, err error) {
	expired := slices.ContainsFunc(r.items, func(x item) bool { return x.expired })
	if contents == nil && (len(verdicts) > 0 || expired || r.topic.Notes || p.observers != nil) {
		if contents, err = p.contents(ctx, r); err != nil || contents == nil {
			return false, err
		}
	}
	all, err := fates(contents, verdicts)
	if err != nil {
		return false, err
	}
	for i := range all {
		if r.items[i].expired {
			all[i] = p.tooLate()
		}
	}
	turn := p.leaving(r)
	for i, v := range all {
		if v != nil {
			turn.Verdicts = append(turn.Verdicts, p.verdict(r, i, contents[i], v))
		}
	}
	began := time.Now()
	a, repeated, err := p.repeat(ctx, turn)
	if err != nil {
		if repeated {
			err = fmt.Errorf("%w: %w", ErrUncertain, err)
		}
		return false, err
	}
	why := a.Unproven(r.fence, repeated)
	p.reportEnd(r, turn, contents, all, why, time.Since(began))
	if why != "" {
		if repeated {
			return false, fmt.Errorf("%w: %s", ErrUncertain, why)
		}
		return false, nil
	}
	p.freed(r, a.Fence)
	p.forgetNotes(r, contents, all)
	return true, nil
}

// leaving is the turn that finishes a batch and takes nothing.
func (p *Poller) leaving(r *receipt) *protocol.Turn {
	return &protocol.Turn{
		Keys: protocol.KeysOf(p.qualify(r.topic.Name), r.slot), Priority: !r.topic.Kind.Timed(), Merge: r.topic.Kind.FirstWins(),
		Worker: r.id(), Fence: r.fence, Lease: r.ttr,
	}
}

// repeat takes a turn until it is answered, unchanged. Repeated reports whether it may have been executed before that answer.
func (p *Poller) repeat(ctx context.Context, turn *protocol.Turn) (a protocol.Answer, repeated bool, err error) {
	return insist(ctx, p, turn.Keys.Store, func(ctx context.Context) (protocol.Answer, error) {
		cmd := p.scripts.TurnCmd(ctx, turn)
		p.scripts.Exec(ctx, cmd)
		return protocol.TurnAnswer(turn, cmd)
	})
}

// contents reads those of a batch, in the order of their bytes. It returns none if the batch is not the receipt's any more.
func (p *Poller) contents(ctx context.Context, r *receipt) ([]string, error) {
	k := protocol.KeysOf(p.qualify(r.topic.Name), r.slot)
	all, _, err := insist(ctx, p, k.Store, func(ctx context.Context) ([]string, error) { return p.flying(ctx, &k, r) })
	return all, err
}

func (p *Poller) flying(ctx context.Context, k *protocol.SlotKeys, r *receipt) ([]string, error) {
	node, _, err := cluster.MasterFor(ctx, p.cfg.Redis, k.Meta)
	if err != nil {
		return nil, err
	}
	pipe := node.Pipeline()
	flying, holder := pipe.ZRange(ctx, k.Prepare, 0, -1), pipe.HMGet(ctx, k.Meta, "holder", "batch") // in this order: if it is the receipt's now, it was before
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	by, _ := holder.Val()[0].(string)
	number, _ := holder.Val()[1].(string)
	if by != r.id() || number != fmt.Sprint(r.fence) || len(flying.Val()) != len(r.items) {
		return nil, nil
	}
	return flying.Val(), nil
}

// verdict is what the turn says of message i.
func (p *Poller) verdict(r *receipt, i int, content string, v *Verdict) protocol.Verdict {
	to := protocol.Verdict{Content: content, Fate: v.fate, Delay: v.in, Reason: words.Shorten(v.reason, longestReason)}
	if score := r.items[i].score; score > 0 && r.topic.Kind.Timed() {
		to.Due = time.UnixMilli(score)
	} else {
		to.Priority = score
	}
	if v.fate == protocol.Failed {
		switch {
		case r.topic.Literal:
			to.Delay = 0
		case v.in == 0:
			to.Delay = p.backoff(r.attempt)
		}
	}
	return to
}

// backoff is how long a message waits for its next delivery.
func (p *Poller) backoff(retry int) (d time.Duration) {
	defer func() {
		if x := recover(); x != nil {
			p.log.Error("Backoff panicked; 30s is taken instead", zap.Any("panic", x))
			d = 30 * time.Second
		}
	}()
	return min(max(p.cfg.Backoff(retry), time.Millisecond), limits.Span)
}

// expiredReason is why a message is dead, or dropped, that came too late.
const expiredReason = "expired: its time to live was over when it was taken"

// tooLate is the verdict on messages whose time to live was over; nil if they are dropped.
func (p *Poller) tooLate() *Verdict {
	if p.cfg.Expired == consumer.ExpiredDrop {
		return nil
	}
	v := Dead(expiredReason)
	return &v
}

// freed has those look at a slot who wait for it.
func (p *Poller) freed(r *receipt, fence int64) {
	if d := p.openDesk(r.topic.Name); d != nil && d.freed(r.slot, fence) {
		return
	}
	p.announcer.Left(p.qualify(r.topic.Name), r.slot)
}

func (p *Poller) qualify(topic string) string { return protocol.Qualify(p.cfg.Namespace, topic) }

// finishHeld finishes a batch that nobody has got, until its time to run is over.
func (p *Poller) finishHeld(h *Held, verdicts []Verdict) {
	ctx, cancel := context.WithDeadline(p.life.Requests, h.Until)
	defer cancel()
	if _, err := p.finish(ctx, h.receipt, h.all, verdicts); err != nil {
		p.log.Warn("a batch that was not received could not be given back; it comes again when its time to run is over",
			zap.String("topic", h.Topic.Name), zap.Int("slot", h.Slot), zap.Error(err))
	}
}

// freed notes that a batch was finished by this process. It is false if nobody here waits.
func (d *desk) freed(slot int, fence int64) bool {
	d.back(slot)
	for _, x := range d.scheduled.Standing(slot) {
		asSlot(x).left.Store(fence)
	}
	d.scheduled.Wake(slot, 0)
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.seats) > 0
}
