package consumer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/schedule"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// result is what became of one message of a batch. A batch begins with all of
// them not started, so that nothing is taken for done by mistake.
type result struct {
	fate   fate
	delay  time.Duration
	reason string
}

type fate uint8

const (
	notStarted fate = iota
	done
	failed
	dead
)

// earlyFinish is how long a batch goes on before what is left of it is given
// back, so that a crash repeats little and urgent messages get in. It is less where
// others wait for a place: see schedule.Slice.
const earlyFinish = time.Second

// batch is what one turn took, on its way through the handlers.
type batch struct {
	*slot
	c      *Consumer
	answer luascripts.Answer
	since  time.Time     // when it got its place; zero: it has none, and is given back
	begun  time.Time     // zero while it waits for a place
	shared time.Time     // when it has had the place for long enough, if others wait for one
	next   int           // the first message not started
	bytes  int           // of those handled
	busy   time.Duration // all handlers together, in a parallel batch

	deliveries []Delivery // one for each message, since a listener may keep its own
}

// handle starts the goroutine that handles the batch, or has it wait for a place:
// its lease is kept meanwhile.
func (c *Consumer) handle(x *slot, a luascripts.Answer) {
	if cap(x.results) < len(a.Contents) {
		x.results = make([]result, len(a.Contents))
	}
	x.results = x.results[:len(a.Contents)]
	clear(x.results)
	x.facts.Held = true
	b := &batch{slot: x, c: c, answer: a, deliveries: make([]Delivery, len(a.Contents))}
	x.batch = b
	c.batches.Add(1)
	if since, now := c.schedule.Work(&x.Slot, x.facts); now {
		b.since = since
		b.begin(time.Now())
		x.minder.begin(b)
		go b.run()
		return
	}
	x.minder.begin(b)
	c.schedule.AwaitPlace(&x.Slot)
}

// goOn handles a batch that has waited for its place, and has it since a time. It is
// called by the schedule.
func goOn(x *schedule.Slot, since time.Time) {
	b := asSlot(x).batch
	b.since = since
	go b.run()
}

// begin notes that the batch has its place.
func (b *batch) begin(now time.Time) {
	b.begun = now
	b.shared = b.since.Add(schedule.Slice)
	if least := now.Add(batchTarget); b.shared.Before(least) { // it has had the place for longer
		b.shared = least
	}
}

// run handles the messages and finishes the batch.
func (b *batch) run() {
	defer b.c.batches.Done()
	if b.begun.IsZero() {
		b.minder.resume(b)
	}
	// A handler may end its goroutine; then the rest of the batch goes on in
	// another. A panic is caught closer to the handler.
	ended := false
	defer func() {
		if !ended {
			b.c.batches.Add(1)
			go b.run()
		}
	}()
	switch {
	case b.since.IsZero(): // all of it is given back
	case b.topic.opts.Parallel:
		b.parallel()
	default:
		b.serial()
	}
	ended = true
	b.finish()
}

// serial handles the messages one after the other.
func (b *batch) serial() {
	for {
		i, ctx, ok := b.claim()
		if !ok {
			return
		}
		b.call(ctx, i, b.delivery(i))
	}
}

// delivery is all that is known of message i.
func (b *batch) delivery(i int) *Delivery {
	d := &b.deliveries[i] // all zero, and large: what stays so is not written
	d.Topic, d.Slot, d.Content = b.topic.Topic, b.Index, b.answer.Contents[i]
	d.Attempt, d.Fence, d.Priority = b.answer.Attempt, b.answer.Number, b.answer.Priority(i)
	if b.turn.Due {
		d.Due = b.answer.Due(i)
	}
	if why, ok := b.answer.Failure(); ok {
		d.Priority, d.LastError, d.FirstFailure = why.Priority, why.Reason, why.First
	}
	return d
}

// claim returns the message to be handled next and its context (see
// minder.start), or false if there is none or the rest is to be given back.
func (b *batch) claim() (i int, ctx context.Context, ok bool) {
	now := time.Now()
	if b.next == len(b.answer.Contents) || b.Leaving() || b.next > 0 && b.enough(now) {
		return 0, nil, false
	}
	if ctx, ok = b.minder.start(now); !ok {
		return 0, nil, false
	}
	i = b.next
	b.next++
	b.bytes += len(b.answer.Contents[i])
	return i, ctx, true
}

// enough reports whether what is left of the batch shall wait for its next turn.
func (b *batch) enough(now time.Time) bool {
	return now.Sub(b.begun) > earlyFinish || now.After(b.shared) && b.c.schedule.Wanted(&b.Slot)
}

// call calls the listener with message i and notes the result. A panic is an
// error, and so is the end of the goroutine.
func (b *batch) call(ctx context.Context, i int, d *Delivery) {
	err := errGoexit
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			b.term().log.Warn("handler panicked", zap.String("topic", d.Topic.Name), zap.Int("slot", d.Slot),
				zap.Int("attempt", d.Attempt), zap.Error(err), zap.ByteString("stack", debug.Stack()))
		}
		b.results[i] = b.judge(ctx, d, err)
	}()
	err = b.topic.listener.OnMessage(ctx, d)
}

// judge decides what becomes of a message whose handler returned.
func (b *batch) judge(ctx context.Context, d *Delivery, err error) result {
	if err == nil {
		return result{fate: done}
	}
	if errors.Is(context.Cause(ctx), ErrClosing) {
		return result{} // as if it had not been started
	}
	reason := fmt.Sprint(err) // which bears an Error method that panics
	r := result{fate: failed, reason: shorten(reason)}
	var declared deadError
	var retry retryError
	switch {
	case as(err, &declared):
		r.fate = dead
	case as(err, &retry):
		r.delay = delay(retry.after)
	case d.Attempt <= message.MaxRetries:
		r.delay = b.c.backoff(b.topic, d.Attempt)
	}
	if b.topic.Literal {
		r.delay = 0
	}
	fields := []zap.Field{zap.String("topic", d.Topic.Name), zap.Int("slot", d.Slot), zap.Int("attempt", d.Attempt), zap.String("error", reason)}
	switch {
	case r.fate == dead || d.Attempt > message.MaxRetries:
		b.term().log.Error("message is dead", append(fields, zap.String("key", b.turn.Keys.Dead), zap.String("content", shorten(d.Content)))...)
	default:
		b.term().log.Debug("message failed and will be retried", append(fields, zap.Duration("in", r.delay))...)
	}
	return r
}

// as is errors.As for an error of the user's, whose methods may panic.
func as[E error](err error, target *E) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return errors.As(err, target)
}

// finish puts the verdicts together and queues the slot for the turn that
// delivers them.
func (b *batch) finish() {
	b.minder.end()
	x := b.slot
	for i, r := range x.results {
		if r.fate == done {
			continue
		}
		v := luascripts.Verdict{Content: b.answer.Contents[i], Priority: b.answer.Priority(i), Delay: r.delay, Reason: r.reason}
		switch r.fate {
		case notStarted:
			v.Fate = luascripts.NotStarted
		case dead:
			v.Fate = luascripts.Dead
		}
		x.verdicts = append(x.verdicts, v)
	}
	if b.next > 0 {
		took := b.busy // by several at the same time
		if !b.topic.opts.Parallel {
			took = time.Since(b.begun)
		}
		x.topic.size.learn(took, b.next, b.bytes)
	}
	x.batch = nil
	clear(x.results)
	at, took := time.Time{}, len(b.answer.Contents)
	if gap := b.c.pace.gap(took, filled(took, x.turn.Count) || x.Leaving()); gap > 0 {
		at = time.Now().Add(gap)
	}
	b.c.schedule.Again(&x.Slot, x.facts, at)
}

// shorten keeps what is stored or logged for a person readable.
func shorten(s string) string {
	const most = 1000
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > most-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
