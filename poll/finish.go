package poll

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
)

// Finish says what became of a batch: what no verdict is about is done. It reports whether that counted. It did
// not if the time to run was over and another one was given the messages; or if the batch was finished before, by
// you as well: a Finish that counted and is repeated does not count again, and changes nothing.
func (p *Poller) Finish(ctx context.Context, receipt string, verdicts ...Verdict) (counted bool, err error) {
	counted, err = p.finish(ctx, receipt, verdicts)
	if err != nil {
		return false, fmt.Errorf("finish: %w", p.explain(err))
	}
	return counted, nil
}

func (p *Poller) finish(ctx context.Context, receipt string, verdicts []Verdict) (counted bool, err error) {
	r, err := parseReceipt(receipt)
	if err != nil {
		return false, err
	}
	for _, v := range verdicts {
		if err := v.validate(); err != nil {
			return false, err
		}
	}
	if err := p.begin(); err != nil {
		return false, err
	}
	defer p.calls.Done()
	e := &ending{process: p.process, receipt: r}
	return e.run(ctx, verdicts)
}

// finishUnreceived finishes a batch that nobody has got, in the background, until its time to run is over.
func (p *process) finishUnreceived(h *Held, verdicts ...Verdict) {
	p.life.Go(func() {
		ctx, cancel := context.WithDeadline(p.life.Requests, h.Until)
		defer cancel()
		e := &ending{process: p, receipt: h.receipt, contents: h.all}
		if _, err := e.run(ctx, verdicts); err != nil {
			p.log.Warn("a batch that was not received could not be given back; it comes again when its time to run is over",
				zap.String("topic", h.Topic.Name), zap.Int("slot", h.Slot), zap.Error(err))
		}
	})
}

// ending is the end of a batch: what becomes of its messages, and the turn that says so.
type ending struct {
	*process
	receipt  *receipt
	contents []string      // in the order of the receipt; nil: not known, and not needed
	fates    []*Verdict    // of these; nil: done
	turn     protocol.Turn // which takes nothing
}

// run finishes the batch, and reports whether that counted.
func (e *ending) run(ctx context.Context, verdicts []Verdict) (counted bool, err error) {
	if e.contents == nil && e.needsContents(verdicts) {
		if e.contents, err = e.readContents(ctx, e.receipt); err != nil || e.contents == nil {
			return false, err
		}
	}
	if e.fates, err = fates(e.contents, verdicts); err != nil {
		return false, err
	}
	e.judgeExpired()
	e.prepare()
	began := time.Now()
	a, repeated, err := untilAnswered(ctx, e.process, e.turn.Keys.Store, e.ask)
	if err != nil {
		if repeated {
			err = fmt.Errorf("%w: %w", ErrUncertain, err)
		}
		return false, err
	}
	why := a.Unproven(e.receipt.fence, repeated)
	e.report(why, time.Since(began))
	switch {
	case why != "" && repeated:
		return false, fmt.Errorf("%w: %s", ErrUncertain, why)
	case why != "":
		return false, nil
	}
	e.wake(a.Fence)
	e.forgetNotes()
	return true, nil
}

func (e *ending) needsContents(verdicts []Verdict) bool {
	return len(verdicts) > 0 || e.observers != nil || e.receipt.topic.Notes ||
		slices.ContainsFunc(e.receipt.items, func(x item) bool { return x.expired })
}

// expiredReason is why a message is dead, or dropped, that came too late.
const expiredReason = "expired: its time to live was over when it was taken"

// judgeExpired has messages whose time to live was over be dead or dropped, whatever is said of them.
func (e *ending) judgeExpired() {
	for i := range e.fates {
		if !e.receipt.items[i].expired {
			continue
		}
		if e.fates[i] = nil; e.cfg.Expired != consumer.ExpiredDrop {
			v := Dead(expiredReason)
			e.fates[i] = &v
		}
	}
}

// prepare makes the turn.
func (e *ending) prepare() {
	r := e.receipt
	e.turn = protocol.Turn{
		Keys: e.keysOf(r), Priority: !r.topic.Kind.Timed(), Merge: r.topic.Kind.FirstWins(), Worker: r.id(), Fence: r.fence, Lease: r.ttr,
	}
	for i, v := range e.fates {
		if v != nil {
			e.turn.Verdicts = append(e.turn.Verdicts, e.verdict(i, v))
		}
	}
}

// verdict is what the turn says of message i.
func (e *ending) verdict(i int, v *Verdict) protocol.Verdict {
	r := e.receipt
	to := protocol.Verdict{Content: e.contents[i], Fate: v.fate, Delay: v.in, Reason: words.Shorten(v.reason, longestReason)}
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
			to.Delay = verdict.Backoff(e.cfg.Backoff).Ask(r.attempt, func(x any) {
				e.log.Error(verdict.BackoffPanicked, zap.Any("panic", x))
			})
		}
	}
	return to
}

// ask takes the turn once.
func (e *ending) ask(ctx context.Context) (protocol.Answer, error) {
	cmd := e.scripts.TurnCmd(ctx, &e.turn)
	e.scripts.Exec(ctx, cmd)
	return protocol.TurnAnswer(&e.turn, cmd)
}

// wake has those look at the slot who wait for it.
func (e *ending) wake(fence int64) {
	r := e.receipt
	if t := e.topics.opened(r.topic.Name); t != nil && t.freed(r.slot, fence) {
		return
	}
	e.publisher.Left(e.qualify(r.topic.Name), r.slot)
}
