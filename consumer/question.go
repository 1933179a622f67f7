package consumer

import (
	"time"
)

// Questions about a batch. Redis may forget its last writes: it is restarted from an
// older snapshot, or a replica that lags takes its place. Then a slot that has moved
// from worker a to b goes back to "a's batch in flight". b gets BUSY, and a, which
// lives and has long reported that batch, does not look at a slot that is not its own.
//
// So a worker whose slot stays busy with a holder asks it, by a wake-up that names slot
// and holder. A holder that carries nothing of the slot takes its turn there: it gets
// the batch again, hands it back as not begun, and leaves. One that does carry
// something reports it in the end, and needs no question. See Topic.Asked in
// internal/worker/schedule/terms.go.

// A slot that has been busy for askAfter asks its holder, and again every askEvery: a
// question may get lost. Nearly always the holder is about to leave.
const (
	askAfter = 300 * time.Millisecond
	askEvery = time.Second
)

// question asks the holder of a slot whether it carries the batch in flight there.
func (c *turns) question(x *slot, holder string, now time.Time) {
	if now.Sub(x.busy) < askAfter || now.Sub(x.asked) < askEvery {
		return
	}
	x.asked = now
	c.announcer.Ask(x.topic.Qualified, x.Index, holder)
}
