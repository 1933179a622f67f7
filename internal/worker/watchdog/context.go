package watchdog

import (
	"context"
	"sync/atomic"
	"time"
)

// deadlineContext is the context of the messages of one batch: cancelled all
// together, with a deadline for the one being handled. A context for each would
// cost more than a message does. A handler may ask for its deadline at any time.
type deadlineContext struct {
	context.Context
	nanos atomic.Int64
}

// Deadline returns when the message being handled times out.
func (c *deadlineContext) Deadline() (time.Time, bool) { return time.Unix(0, c.nanos.Load()), true }

func (c *deadlineContext) set(t time.Time) { c.nanos.Store(t.UnixNano()) }
