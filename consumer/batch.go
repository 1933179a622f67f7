package consumer

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/logs"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/away"
	"github.com/slotmq/go-rmq/internal/worker/breaker"
	"github.com/slotmq/go-rmq/internal/worker/expiry"
	"github.com/slotmq/go-rmq/internal/worker/gate"
	"github.com/slotmq/go-rmq/internal/worker/intake"
	"github.com/slotmq/go-rmq/internal/worker/note"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/internal/worker/watchdog"
)

// All messages of a batch share one context. A context for each would be a timer and some allocations for each message.
// Deadline returns the deadline of the message being handled; only after a timeout do the next messages need another
// context.

// Goexit goes on in another goroutine. A handler may end its goroutine (t.FailNow in a test does). No recover stops
// that. The deferred function of batch.run notices, and the rest of the batch goes on in a new goroutine; the message
// has failed. An observer may do the same, and a writer or a flusher must not end with answers half read. So all answers
// of a write are read first, and shown to the observers before anything is done about them. If one ends the goroutine,
// the other calls are made while it ends (internal/observers/show.go), and another goroutine goes on behind them
// (internal/worker, and writer.show in producer).

// batches handles what turns take.
type batches struct {
	life     *lifetime.Lifetime
	schedule *schedule.Schedule
	rdb      redis.UniversalClient
	scripts  *protocol.Scripts
	pace     *intake.Pace
	log      *zap.Logger
	away     *away.Watch
	hide     logs.Privacy
	watching watchdog.Config
	server   expiry.Server // asked for its time
}

// batch is what one turn took, on its way through the handlers.
type batch struct {
	*slot
	*batches
	watched watchdog.Batch
	answer  protocol.Answer
	since   time.Time     // when it got its place; zero: it has none, and is given back
	shared  time.Time     // when it has had the place for long enough, if others wait for one
	next    int           // the first message not started, which is also how many were started
	bytes   int           // of those handled
	took    time.Duration // all handlers together, in a parallel batch
	claimed time.Duration // when the last message was, since begun, in a serial batch with observers
	untimed int32         // 1 + the message whose handler has just returned there; 0: none
	late    int32         // of those before next: they came too late, were cancelled or passed over, and were not handled
	clock   expiry.Clock  // for these
	notes   []note.Note   // of the messages, once they are read; nil: the topic has none

	texts logs.Texts // about its messages

	deliveries []Delivery // one for each message, since a listener may keep its own
}

// handle starts the goroutine that handles the batch, or has it wait for a place:
// its lease is kept meanwhile. The batch is fresh if the last request of the turn has surely taken
// it; else it may have been taken before, and be told again.
func (c *batches) handle(x *slot, a protocol.Answer, fresh bool) {
	if cap(x.results) < len(a.Contents) {
		x.results = make([]verdict.Verdict, len(a.Contents))
	}
	x.results = x.results[:len(a.Contents)]
	clear(x.results) // what is not started is handed back
	x.Facts.Held, x.Facts.Few, x.Facts.Taken = true, x.topic.gather() > 0 && x.state < breaker.OneByOne && few(&a, x.Turn.Count), len(a.Contents)
	b := &batch{slot: x, batches: c, answer: a, deliveries: make([]Delivery, len(a.Contents))}
	b.watched = watchdog.Batch{Limits: &x.topic.limits, Slot: x.Scheduled(), ID: x.ID(), Term: x.term(), Log: x.term().Log,
		Keys: &x.Turn.Keys, Fence: a.Fence, Sent: x.Sent, Contents: a.Contents}
	b.texts.Privacy, b.texts.Contents = c.hide, a.Contents
	b.clock = expiry.Start(&c.server, b, x.Turn.Keys.Store, a.Fence, x.Sent, fresh)
	c.life.Hold()
	since, now := x.Work(x.Facts)
	if now {
		b.watched.Begun = time.Now()
		b.placed(since)
		x.watchdog.Begin(&c.watching, &b.watched)
		go b.run()
		return
	}
	x.watchdog.Begin(&c.watching, &b.watched)
	x.goOn = func(since time.Time) {
		go func() {
			b.watchdog.Resume(time.Now())
			b.placed(since)
			b.run()
		}()
	}
	x.AwaitPermit()
}

// goOn handles a batch that has waited for its place: see schedule.New.
func goOn(x *schedule.Slot, since time.Time) { asSlot(x).goOn(since) }

// placed notes that the batch has its place since a time, or none if that is zero.
func (b *batch) placed(since time.Time) {
	b.since, b.shared = since, since.Add(schedule.Slice)
	if least := b.watched.Begun.Add(intake.Target); b.shared.Before(least) { // it has had the place for longer
		b.shared = least
	}
}

// run handles the messages and finishes the batch.
func (b *batch) run() {
	defer b.life.Release()
	// A handler may end its goroutine; then the rest of the batch goes on in
	// another. A panic is caught closer to the handler.
	ended := false
	defer func() {
		if !ended {
			b.life.Hold()
			go b.run()
		}
	}()
	switch {
	case b.since.IsZero(), !b.readNotes(): // all of it is given back
	case b.topic.calls != nil:
		b.together()
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

// parallel handles the messages of a batch at the same time: one after the
// other in the place the batch has, and as many more as there are places. The turn
// has taken no more than there were then.
func (b *batch) parallel() {
	more := b.Borrow(len(b.answer.Contents) - b.next - 1)
	var mu sync.Mutex
	claim := func() (int, context.Context, bool) {
		mu.Lock()
		defer mu.Unlock()
		return b.claim()
	}
	var work func()
	var all sync.WaitGroup
	work = func() {
		returned := false
		begun := time.Now()
		defer func() {
			mu.Lock()
			b.took += time.Since(begun)
			mu.Unlock()
			if !returned { // a handler ended its goroutine
				all.Go(work)
				return
			}
			b.ReturnOne() // now: a neighbour may hang
		}()
		for {
			i, ctx, ok := claim()
			if !ok {
				break
			}
			b.one(ctx, i)
		}
		returned = true
	}
	for range 1 + more {
		all.Go(work)
	}
	all.Wait()
}

// one handles message i under a context of its own.
func (b *batch) one(ctx context.Context, i int) {
	ctx, end := context.WithTimeoutCause(ctx, b.topic.opts.Timeout, verdict.ErrTimeout)
	defer end()
	defer b.watchdog.Returned(i)
	b.call(ctx, i, b.delivery(i))
}

// delivery is all that is known of message i.
func (b *batch) delivery(i int) *Delivery {
	d := &b.deliveries[i] // all zero, and large: what stays so is not written
	d.Topic, d.Slot, d.Content = b.topic.Topic.Topic, b.Index, b.answer.Contents[i]
	d.Attempt, d.Fence, d.Priority = b.answer.Attempt, b.answer.Fence, b.answer.Priority(i)
	if b.topic.opts.Due {
		d.Due = b.answer.Due(i)
	}
	if verdict.Last(d.Attempt, b.topic.opts.MaxAttempts) {
		d.Last = true
	}
	if why, ok := b.answer.Failure(); ok {
		d.Priority, d.LastError, d.FirstFailure = why.Priority, why.Reason, why.First
	}
	if b.notes != nil {
		d.note = &b.notes[i]
	}
	return d
}

// claim returns the message to be handled next and its context (see
// watchdog.Start), or false if there is none or the rest is to be given back.
func (b *batch) claim() (i int, ctx context.Context, ok bool) {
	now := time.Now()
	if b.untimed > 0 { // so observers cost no look at the clock
		b.results[b.untimed-1].Took, b.untimed = now.Sub(b.watched.Begun)-b.claimed, 0
	}
	b.passCancelled()
	passResting(b)
	if b.next == len(b.answer.Contents) || b.Leaving() || b.next > 0 && b.enough(now) || b.GiveUp() {
		return 0, nil, false
	}
	for begun := false; !begun; {
		begun = true
		if b.mayExpire() {
			if !b.passExpired() {
				return 0, nil, false
			}
			now = time.Now()
		}
		if ctx, ok = b.watchdog.Start(now, b.next); !ok {
			return 0, nil, false
		}
		if b.mayExpire() { // start may have had to wait for Redis
			if begun, ok = b.inTime(b.next, true); !ok {
				return 0, nil, false
			}
		}
	}
	if b.results[b.next].Pass, ok = b.topic.gate.Begin(b.state); !ok {
		return 0, nil, false
	}
	i = b.next
	b.next++
	b.bytes += len(b.answer.Contents[i])
	clockIn(b, i, now)
	return i, ctx, true
}

// clockIn notes for observers when message i was claimed.
func clockIn(b *batch, i int, now time.Time) {
	switch {
	case b.event == nil:
	case b.topic.opts.Parallel:
		b.results[i].Took = now.Sub(b.watched.Begun) // until call has its end
	default:
		b.claimed = now.Sub(b.watched.Begun)
	}
}

// enough reports whether what is left of the batch is to wait for its next turn.
func (b *batch) enough(now time.Time) bool {
	return now.Sub(b.watched.Begun) > watchdog.EarlyFinish || now.After(b.shared) && b.Wanted()
}

// call calls the listener with message i and notes the result. A panic is an
// error, and so is the end of the goroutine.
func (b *batch) call(ctx context.Context, i int, d *Delivery) {
	err := verdict.Ended
	defer func() {
		if p := recover(); p != nil {
			err = b.panicked(p, d)
		}
		show(b, i, b.ended(ctx, i, err))
		switch {
		case b.event == nil:
		case b.topic.opts.Parallel:
			b.results[i].Took = time.Since(b.watched.Begun) - b.results[i].Took
		default:
			b.untimed = int32(i + 1) // claim, which is next, knows the time
		}
	}()
	err = b.topic.listener.OnMessage(ctx, d)
}

// ended notes what became of message i, whose listener returned an error or nil, and returns what
// that shows.
func (b *batch) ended(ctx context.Context, i int, err error) gate.Evidence {
	v := &b.results[i]
	if err == nil {
		v.Fate = verdict.Done
		return gate.Success
	}
	took, pass := v.Took, v.Pass
	*v = b.judge(ctx, i, err)
	v.Took, v.Pass = took, pass
	return evidence(ctx, v.Fate, err)
}

// panicked is the error of a handler that panicked over some messages.
func (b *batch) panicked(p any, ds ...*Delivery) error {
	err := fmt.Errorf("%w: %v", verdict.ErrPanic, p)
	b.term().Log.Warn("handler panicked", b.about(ds[0], zap.Int("messages", len(ds)), zap.String("error", b.texts.Of(err)), zap.ByteString("stack", debug.Stack()))...)
	return err
}

// judge returns what the worker reports of message i, whose handler returned an error.
func (b *batch) judge(ctx context.Context, i int, err error) verdict.Verdict {
	if b.watchdog.Cancelled(i) {
		return verdict.Cancelled
	}
	d := &b.deliveries[i]
	v, rest := b.topic.rules.Judge(ctx, b.answer.Attempt, err, func(p any) {
		b.log.Error(verdict.BackoffPanicked, b.about(d, zap.String("panic", b.texts.Of(p)))...)
	})
	log, reason := b.term().Log, b.texts.Of(v.Reason)
	v.Reason = logs.Shorten(v.Reason)
	switch {
	case rest > 0:
		return pushedBack(b, d, rest, v)
	case v.Fate == verdict.Snoozed:
		log.Debug("message is put back by its handler", b.about(d, zap.String("reason", reason), zap.Duration("in", v.Delay))...)
	case v.Fate == verdict.Dead:
		log.Error("message is dead", b.about(d, zap.String("error", reason), zap.String("key", b.Turn.Keys.Dead))...)
	case v.Fate == verdict.Failed:
		log.Debug("message failed and will be retried", b.about(d, zap.String("error", reason), zap.Duration("in", v.Delay))...)
	}
	return v
}

// finish puts the verdicts together and queues the slot for the turn that
// delivers them.
func (b *batch) finish() {
	b.watchdog.End()
	x := b.slot
	b.dropCancelled()
	good := false
	for i := range x.results {
		v := &x.results[i]
		if v.Fate == verdict.Done || v.Fate == verdict.Dropped {
			good = good || v.Fate == verdict.Done
			continue
		}
		x.Verdicts = append(x.Verdicts, v.Report(&b.answer, i))
	}
	if good {
		x.topic.gate.Succeeded(b.answer.Fence, b.Sent)
	}
	if x.event != nil {
		x.finished()
	}
	x.over = overOf(b)
	handled := b.next - int(b.late)
	if x.Facts.Taken = handled; handled > 0 {
		lasted := time.Since(b.watched.Begun)
		took := b.took // by several at the same time
		if !b.topic.opts.Parallel {
			took = lasted
		}
		x.topic.size.Learn(took, handled, b.bytes)
		x.topic.handlers.Learn(cameOut(b.results, lasted, took))
	}
	x.goOn = nil
	clear(x.results)
	at := time.Time{}
	if !intake.Filled(len(b.answer.Contents), x.Turn.Count) && !x.Leaving() {
		at = b.pace.Next(x.Sent, time.Now())
	}
	x.Again(x.Facts, at)
}
