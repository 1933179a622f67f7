package consumer

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/worker/gate"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
)

// A slot that gathers holds nothing. With Gather, a turn that took less than it could means that nothing else waits. The
// slot's next turn then leaves the slot: it reports the batch and frees the place, and the slot sleeps before it takes
// again. To delay that turn instead would save a turn, but keep the place, and leave a batch in flight that a crash
// would repeat. After a full batch, after one near 1 MiB, and after a retry, more may wait: the next turn takes at once.
// So does the one after an EMPTY … 0, which has put a part of what was put back into its place: the slot has gathered
// already.

// A batch call begins all of its messages. So none of them is handed back after a second, as it is where messages are
// handled one by one, and the size of a batch is Most, not what takes 10 ms. SameDue cuts a batch into several calls. It
// does not hand the rest back, because it would be taken again at once.

// together handles the messages of a batch in one call, or in several where SameDue cuts
// it. Once a call has begun nothing of it is handed back, but for what fails while the
// worker closes, and what is pushed back. Between two calls the batch may end as it does between two messages.
func (b *batch) together() {
	for {
		i, ctx, ok := b.claim()
		if !ok {
			return
		}
		for b.results[i].Pass == 0 && b.next < len(b.answer.Contents) && b.joins(i, b.next) {
			b.bytes += len(b.answer.Contents[b.next])
			b.next++
		}
		b.watchdog.Calls(b.next)
		b.callTogether(ctx, i, b.next)
	}
}

// joins reports whether a later message may be in one call with an earlier one. Redis is not asked
// for its time here: the messages that are in the call already could expire meanwhile.
func (b *batch) joins(earlier, later int) bool {
	if !b.topic.calls.sameDue(&b.answer, earlier, later) || b.watchdog.Cancelled(later) {
		return false
	}
	if !b.mayExpire() {
		return true
	}
	inTime, ok := b.inTime(later, false)
	return inTime && ok
}

// sameDue reports whether two messages were due close enough for one call. They stand in the
// order of their times.
func (c *batchCalls) sameDue(a *protocol.Answer, earlier, later int) bool {
	most := c.SameDue
	if most == 0 {
		return true
	}
	first, last := a.Due(earlier), a.Due(later)
	return !first.IsZero() && !last.IsZero() && last.Sub(first) <= most
}

// callTogether calls the listener with the messages from one on, up to another, and notes
// the results.
func (b *batch) callTogether(ctx context.Context, from, to int) {
	x := &Batch{Topic: b.topic.Topic.Topic, Slot: b.Index, Attempt: b.answer.Attempt, Fence: b.answer.Fence}
	for i := from; i < to; i++ {
		x.Messages = append(x.Messages, b.delivery(i))
	}
	err, begun := verdict.Ended, time.Now()
	defer func() {
		took := time.Since(begun)
		if p := recover(); p != nil {
			err = b.panicked(p, x.Messages...)
		}
		all := gate.NoEvidence // of the call: one success, or else one failure, however many messages it had
		for i, err := range x.end(err) {
			if e := b.ended(ctx, from+i, err); e == gate.Success || all == gate.NoEvidence {
				all = e
			}
			b.results[from+i].Took = took
		}
		show(b, from, all)
	}()
	err = b.topic.calls.listener.OnBatch(ctx, x)
}

// batchCalls is how the messages of a topic are handled together.
type batchCalls struct {
	BatchOptions
	listener BatchListener
}

// few reports whether a turn that might take count contents was given all that was due, as
// far as one can see: neither so many nor so large ones that more would not have fitted.
// Retries come one by one, so after one there may be others.
func few(a *protocol.Answer, count int) bool {
	n, bytes := len(a.Contents), 0
	for _, content := range a.Contents {
		bytes += len(content)
	}
	return a.Attempt == 1 && n < count && bytes+bytes/n <= limits.BatchBytes
}

// count is how many messages the next batch of a slot is to take as a rule, with places to handle
// them at the same time.
func (t *topic) count(places int) int {
	if t.calls != nil {
		return t.calls.Most
	}
	return t.size.Count(places)
}

// gather is how long a slot waits for more messages.
func (t *topic) gather() time.Duration {
	if t.calls == nil {
		return 0
	}
	return t.calls.Gather
}
