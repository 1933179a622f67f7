package verdict

import (
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/message"
)

// Verdict is what became of one message of a batch. The zero Verdict is that of one that was not started, so that nothing
// is taken for done by mistake. Report makes of it what the turn carries, a [protocol.Verdict].
type Verdict struct {
	Fate     Fate
	Overload bool   // too much for what is behind the handler: it timed out, or was pushed back
	Pass     uint32 // that it was begun with; see package gate
	Delay    time.Duration
	Reason   string
	Err      error         // that the listener returned, and why its context had ended
	Took     time.Duration // by the listener; only if there are observers
}

// Fate is what becomes of a message.
type Fate uint8

const (
	NotStarted Fate = iota
	Done
	Failed
	Dead
	Snoozed
	Dropped // it came too late, or was cancelled
)

// Cancelled is that of a message that was cancelled.
var Cancelled = Verdict{Fate: Dropped, Reason: ErrCancelled.Error(), Err: ErrCancelled}

// ends are the fates as observers see them.
var ends = [...]message.What{
	NotStarted: message.HandedBack, Done: message.Done, Failed: message.Failed,
	Dead: message.Died, Snoozed: message.Snoozed, Dropped: message.Dropped,
}

// Over reports whether the message is gone from the queue: nothing that is kept beside it is needed any more.
func (f Fate) Over() bool { return f == Done || f == Dead || f == Dropped }

// Describe says to observers what has become of a message, once Redis has applied it.
func (v *Verdict) Describe(x *message.Item) {
	x.What = ends[v.Fate]
	x.Took, x.In, x.Reason, x.Err = v.Took, v.Delay, v.Reason, v.Err
	Applied(x)
}

// Applied has an item say what Redis makes of a failure.
func Applied(x *message.Item) {
	if x.What == message.Failed && Last(x.Attempt, limits.Deliveries) {
		x.What, x.In = message.Died, 0
	}
}

// Report is what the next turn reports of message i of an answer, unless it is done or dropped.
func (v *Verdict) Report(a *protocol.Answer, i int) protocol.Verdict {
	to := protocol.Verdict{Content: a.Contents[i], Priority: a.Priority(i), Due: a.Due(i), Delay: v.Delay, Reason: v.Reason}
	switch v.Fate {
	case NotStarted:
		to.Fate = protocol.NotStarted
	case Failed:
		to.Fate = protocol.Failed
	case Dead:
		to.Fate = protocol.Dead
	case Snoozed:
		to.Fate = protocol.PutBack
	}
	return to
}
