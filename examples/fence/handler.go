package main

import (
	"context"
	"sync"

	"github.com/slotmq/go-rmq/rmq"
)

// handler asks the carrier about an order, and writes the answer down.
type handler struct {
	orders table

	once sync.Once
	thaw chan struct{} // closed when the frozen handler goes on
	late chan bool     // whether its write was accepted
}

func (h *handler) OnMessage(ctx context.Context, d *rmq.Delivery) error {
	state := answers[min(d.Attempt, len(answers))-1]
	say("delivery %d has the number %d, and learns: %s is %s", d.Attempt, d.Fence, d.Content, state)
	if d.Attempt == 1 {
		say("delivery 1 freezes, and does not see that its context ends")
		<-h.thaw
		say("delivery 1 thaws, and writes what it knows. Its context would have told: %v", context.Cause(ctx))
	}
	written := h.orders.write(d.Content, state, d.Fence)
	if written {
		say("delivery %d writes %q", d.Attempt, state)
	} else {
		say("delivery %d is refused: %d is older than %d", d.Attempt, d.Fence, h.orders.read(d.Content).fence)
	}
	if d.Attempt == 1 {
		h.late <- written
	} else {
		h.wake()
	}
	return nil
}

func (h *handler) wake() { h.once.Do(func() { close(h.thaw) }) }
