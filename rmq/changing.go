package rmq

import (
	"context"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/servers/rights"
)

// What a program does with messages that it has sent before. All of it is in package
// inspector, which is made when it is first needed.

// Move is the new time or priority of a message that waits. The zero Move is now.
//
//	type Move struct {
//		At       time.Time     // due then, or now if that has passed
//		In       time.Duration // due so much after the server's present time, at least 1ms
//		Priority int64         // in priority topics
//	}
type Move = inspector.Move

// Cancel removes a message that waits for its time, its turn or its retry, and reports whether
// it did. If a copy of it is being handled, its handler is asked to stop, and asked is true: its
// context is cancelled with ErrCancelled, and unless it returns nil all the same, the message
// is dropped. If neither was the case, the message is not there: handled, dead, or never sent.
//
// The handler's context ends right away, or after a third of its worker's lease if Redis loses
// the wake-up. A delivery that ends before that counts as usual, and so does one whose worker
// dies or whose handler ignores its context for twice its Timeout: then cancel again.
//
// basis is the SlotBasis that the message was sent with. Leave it empty if it had none. If you
// do not know it, leave it empty, too: then all slots are searched, and a message that waits in
// several is an error. After an error of Redis, or the end of ctx, call it again: it may have
// had its effect.
//
// The content may be sent as a Unique message again, also if nothing was there to cancel: in the
// slot of the basis, or of the content, or where the message was found.
func (c *Client) Cancel(ctx context.Context, t Topic, content, basis string) (removed, asked bool, err error) {
	type answer struct{ removed, asked bool }
	got, err := ask(ctx, c, "cancel", t, rights.Need{Changes: true}, func(ctx context.Context, i *inspector.Inspector) (a answer, err error) {
		a.removed, a.asked, err = i.Cancel(ctx, t.Name, content, basis)
		return a, err
	})
	return got.removed, got.asked, err
}

// Reschedule gives a message that waits another time or priority, and returns how it waits
// now. A retry keeps its attempts. It finds the message as Cancel does. One that does not wait
// is ErrNotWaiting, and the error says where it is.
func (c *Client) Reschedule(ctx context.Context, t Topic, content, basis string, to Move) (inspector.Entry, error) {
	return ask(ctx, c, "reschedule", t, rights.Need{Changes: true}, func(ctx context.Context, i *inspector.Inspector) (inspector.Entry, error) {
		return i.Reschedule(ctx, t.Name, content, basis, to)
	})
}

// Explain returns, for each slot that has the message, where it is there and what it waits
// for. It returns nothing if the message is nowhere: handled, cancelled, or never sent. It
// finds the message as Cancel does.
func (c *Client) Explain(ctx context.Context, t Topic, content, basis string) ([]inspector.Explanation, error) {
	return ask(ctx, c, "explain", t, rights.Need{Changes: true}, func(ctx context.Context, i *inspector.Inspector) ([]inspector.Explanation, error) {
		return i.Explain(ctx, t.Name, content, basis)
	})
}
