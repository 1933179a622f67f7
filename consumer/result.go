package consumer

import (
	"context"
	"errors"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/message"
)

// result is what became of one message of a batch. A batch begins with all of
// them not started, so that nothing is taken for done by mistake.
type result struct {
	fate   fate
	over   bool   // too much for what is behind the handler: it timed out, or was pushed back
	permit uint32 // that it was begun with; see gate
	delay  time.Duration
	reason string
	err    error         // that the listener returned, and why its context had ended
	took   time.Duration // by the listener; only if there are observers
}

type fate uint8

const (
	notStarted fate = iota
	done
	failed
	dead
	snoozed
	dropped // it came too late, or was cancelled
)

// withCause is what a listener returned, and why its context had ended, if it had: many
// return context.Canceled whatever the cause.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return errors.Join(err, cause)
	}
	return err
}

// ends are the fates as observers see them.
var ends = [...]message.What{
	notStarted: message.HandedBack, done: message.Done, failed: message.Failed,
	dead: message.Died, snoozed: message.Snoozed, dropped: message.Dropped,
}

// describe says to observers what has become of a message, once Redis has applied it.
func (r *result) describe(x *message.Item) {
	x.What = ends[r.fate]
	x.Took, x.In, x.Reason, x.Err = r.took, r.delay, r.reason, r.err
	if r.fate == failed && x.Attempt > message.MaxRetries { // so the script has it die
		x.What, x.In = message.Died, 0
	}
}

// verdict is what the next turn reports of message i of an answer, unless it is done.
func (r result) verdict(a *protocol.Answer, i int) protocol.Verdict {
	v := protocol.Verdict{Content: a.Contents[i], Priority: a.Priority(i), Due: a.Due(i), Delay: r.delay, Reason: r.reason}
	switch r.fate {
	case notStarted:
		v.Fate = protocol.NotStarted
	case failed:
		v.Fate = protocol.Failed
	case dead:
		v.Fate = protocol.Dead
	case snoozed:
		v.Fate = protocol.PutBack
	}
	return v
}
