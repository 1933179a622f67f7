package poll

import (
	"slices"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// delivery is a batch on its way to the one who waits for it.
type delivery struct {
	*topic
	held *Held
	to   *waiter // nil: nobody any more
}

// taken begins the delivery of a batch that a turn has taken. A batch that is told again has its whole time anew.
func (t *topic) taken(x *slot, a *protocol.Answer) delivery {
	r := &receipt{
		topic: t.definition, slot: x.Index, worker: t.process.cfg.Worker, batch: x.batch, fence: a.Fence, attempt: a.Attempt, ttr: x.Turn.Lease,
	}
	d := delivery{topic: t, held: newHeld(r, a, x.Sent.Add(r.ttr)), to: x.waiter}
	x.batch, x.waiter, x.busy = newBits(), nil, 0
	x.Facts.Unavailable, x.Facts.Holder, x.Facts.Taken = true, r.id(), len(a.Contents)
	d.to.came()
	t.out.add(x.Index, d.held.Until)
	x.Rest(x.Facts, d.held.Until.Add(time.Millisecond))
	return d
}

// run gives the batch to the one it was taken for, or back: then that one waits on.
func (d delivery) run() {
	h := d.held
	d.process.reportTaken(h)
	late, ok := d.readNotes(h)
	h.seal(late)
	some := ok && len(late) < len(h.Messages)
	switch {
	case !ok: // whether it came too late is not known
		d.process.finishUnreceived(h, NotStarted())
	case !some:
		d.process.finishUnreceived(h)
	default:
		h.Messages = slices.DeleteFunc(h.Messages, func(m Message) bool { return late[m.Content] })
		if d.to == nil || !d.to.give(h) {
			d.process.finishUnreceived(h, NotStarted())
		}
	}
	d.to.delivered(some)
}
