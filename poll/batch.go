package poll

import (
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// took notes that a turn has taken a batch, and returns it, and the seat that it was taken for. A batch that is told again
// has its whole time anew.
func (d *desk) took(x *slot, a protocol.Answer) (*Held, *seat) {
	r := &receipt{
		topic: d.topic, slot: x.Index, worker: d.cfg.Worker, batch: x.batch, fence: a.Fence, attempt: a.Attempt, ttr: x.Turn.Lease,
	}
	h, s := d.held(r, &a, x.Sent.Add(r.ttr)), x.seat
	h.receipt = r
	x.batch, x.seat, x.busy = newBits(), nil, 0
	x.Facts.Unavailable, x.Facts.Holder, x.Facts.Taken = true, r.id(), len(a.Contents)
	d.serve(s)
	d.gone(x.Index, h.Until)
	x.Rest(x.Facts, h.Until.Add(time.Millisecond))
	return h, s
}

// deliver gives a batch to the taker it was taken for, or back.
func (d *desk) deliver(h *Held, s *seat) {
	r := h.receipt
	d.reportTaken(h, r, time.Since(h.Until.Add(-r.ttr)))
	late, ok := d.readNotes(h)
	h.sort(r, late)
	switch {
	case !ok: // whether it came too late is not known
		d.giveBack(h)
	case len(late) == len(h.Messages):
		d.Poller.life.Go(func() { d.finishHeld(h, nil) })
	default:
		h.Messages = slices.DeleteFunc(h.Messages, func(m Message) bool { return late[m.Content] })
		if s == nil || !s.give(h) {
			d.giveBack(h)
		}
		d.served(s, true)
		return
	}
	d.served(s, false)
}

// held is what the taker gets.
func (d *desk) held(r *receipt, a *protocol.Answer, until time.Time) *Held {
	h := &Held{Topic: d.topic, Slot: r.slot, Fence: r.fence, Attempt: r.attempt, Until: until}
	why, failed := a.Failure()
	h.LastError = why.Reason
	for i, content := range a.Contents {
		m := Message{Content: content, Priority: a.Priority(i), Due: a.Due(i)}
		if failed && !d.topic.Kind.Timed() {
			m.Priority = why.Priority
		}
		h.Messages = append(h.Messages, m)
	}
	return h
}

// sort puts into the receipt what it says of the messages.
func (h *Held) sort(r *receipt, late map[string]bool) {
	for _, m := range slices.SortedFunc(slices.Values(h.Messages), func(a, b Message) int { return strings.Compare(a.Content, b.Content) }) {
		x := item{score: m.Priority, expired: late[m.Content]}
		if !m.Due.IsZero() {
			x.score = m.Due.UnixMilli()
		}
		r.items, h.all = append(r.items, x), append(h.all, m.Content)
	}
	h.Receipt = r.String()
}

// giveBack gives back a batch that nobody has got: no attempt is spent.
func (p *Poller) giveBack(h *Held) {
	p.life.Go(func() { p.finishHeld(h, []Verdict{NotStarted()}) })
}
