package inspector

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/hash"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/message"
)

// Move is the new time or priority of a message that waits. The zero Move is now.
type Move struct {
	At       time.Time     // due then, or now if that has passed. In priority topics that is for what waits for its retry
	In       time.Duration // due so much after the server's present time, at least 1ms; likewise
	Priority int64         // in priority topics, for what waits for its first delivery
}

// Cancel removes a message that waits for its time, its turn or its retry. If a copy is in
// flight, its handler is asked to stop: its context is cancelled, and unless it returns nil
// all the same the message is dropped, neither tried again nor dead. It hears of that in a
// moment, or after a third of the worker's lease if the wake-up is lost. A delivery that ends
// before counts as it ends, and so does one whose worker dies or takes no notice for
// twice its Timeout: then cancel again.
//
// Without a basis it looks in the slot of the content, and if the message is not there, in
// all slots. If it is in several, nothing is removed, and the error names the slots.
func (i *Inspector) Cancel(ctx context.Context, topic, content, basis string) (removed, asked bool, err error) {
	t, err := i.w.About(ctx, "cancel in topic "+topic, topic)
	if err != nil {
		return false, false, err
	}
	do := func(slot int) (bool, error) {
		gone, flying, err := cancelIn(ctx, i, t, slot, content)
		removed, asked = removed || gone, asked || flying
		return gone, err
	}
	there, err := whereItWaits(ctx, i, t, content, basis, do)
	if err == nil && !removed && !asked {
		err = inTheOne(there, func(p place) bool { return p.InFlight }, do)
	}
	if err != nil {
		return removed, asked, fmt.Errorf("cancel in topic %s: %w", topic, err)
	}
	return removed, asked, nil
}

// cancelIn cancels a message in one slot, and wakes its worker if it has the message.
func cancelIn(ctx context.Context, i *Inspector, t Topic, slot int, content string) (removed, asked bool, err error) {
	begun := time.Now()
	removed, asked, err = i.w.Scripts.Cancel(ctx, i.w.Keys(t.Name, slot), t.Notes, content)
	if err = i.w.Explain(err); err != nil && !cluster.Refused(err) {
		err = fmt.Errorf("the answer is lost, so it may be cancelled: %w", err)
	}
	if asked {
		i.w.Publish(ctx, t, slot, protocol.AppendCancel(nil, slot))
	}
	if removed {
		i.steps.TellGone(t, slot, begun, message.Cancelled, content)
	}
	return removed, asked, err
}

// Reschedule gives a message that waits another time or priority, and returns how it waits
// now. A retry keeps its attempts. It looks for the message as Cancel does.
func (i *Inspector) Reschedule(ctx context.Context, topic, content, basis string, to Move) (Entry, error) {
	t, err := i.w.About(ctx, "reschedule in topic "+topic, topic)
	if err != nil {
		return Entry{}, err
	}
	e, err := reschedule(ctx, i, t, content, basis, to)
	if err != nil {
		return Entry{}, fmt.Errorf("reschedule in topic %s: %w", topic, err)
	}
	return e, nil
}

func reschedule(ctx context.Context, i *Inspector, t Topic, content, basis string, to Move) (e Entry, err error) {
	if err := to.validate(t); err != nil {
		return e, err
	}
	slot, due := hash.Slot(cmp.Or(basis, content), t.Slots), to.In
	if !to.At.IsZero() {
		counts, _, err := i.w.Counts(ctx, t, []int{slot})
		if err != nil {
			return e, err
		}
		due = to.At.Sub(counts[0].Now)
	}
	var where byhand.Place
	there, err := whereItWaits(ctx, i, t, content, basis, func(in int) (done bool, err error) {
		var score int64
		where, _, score, err = byhand.Reschedule(ctx, i.w.Redis, i.w.Keys(t.Name, in), content, to.script(t))
		slot = in
		switch {
		case where == byhand.InStore && (to.Priority > 0 || t.Kind.Timed()):
			e, done = entryOf(t, in, Waiting, content, score), true
		case where == byhand.InRetry && to.Priority == 0:
			e, done = entryOf(t, in, Retrying, content, score), true
		}
		return done, i.w.Explain(err)
	})
	if err == nil && e == (Entry{}) && basis != "" {
		there, err = lookIn(ctx, i, t, content, []int{slot})
	}
	switch {
	case err != nil:
		return e, err
	case e != Entry{}:
		tellMoved(ctx, i, t, e)
		i.w.Wake(ctx, t, []int{slot}, due)
		return e, nil
	case where == byhand.InStore: // with a priority, which a time must not replace
		return e, &message.InvalidError{Field: "Move", Value: "a time", Limit: "a priority: what waits in topic " + t.Name + " has no times"}
	}
	return e, fmt.Errorf("%w: %s", ErrNotWaiting, instead(t, where, slot, there))
}

// tellMoved tells the journal. A retry of a priority topic has no priority to be told, and keeps the one it was sent with.
func tellMoved(ctx context.Context, i *Inspector, t Topic, e Entry) {
	score := e.Priority
	if t.Kind.Timed() {
		score = e.Due.UnixMilli()
	}
	if score > 0 {
		i.steps.TellSent(ctx, t, e.Slot, []record.SentItem{{Content: e.Content, Score: score}})
	}
}

// instead says where a message is that could not be rescheduled.
func instead(t Topic, where byhand.Place, slot int, there []place) string {
	switch where {
	case byhand.InRetry:
		return fmt.Sprintf("in slot %d it waits for its retry, which has a time and no priority", slot)
	case byhand.AtOnce:
		return fmt.Sprintf("in slot %d it has failed, and is tried again at once, because topic %s is literal", slot, t.Name)
	}
	for _, p := range there {
		if p.InFlight {
			return fmt.Sprintf("it is in flight, in slot %d, with worker %s", p.slot, cmp.Or(p.Worker, "unknown"))
		}
	}
	for _, p := range there {
		if !p.Died.IsZero() {
			return fmt.Sprintf("it is dead, in slot %d; requeue it", p.slot)
		}
	}
	return "it is nowhere in topic " + t.Name
}

func (m Move) validate(t Topic) error {
	given := 0
	for _, is := range []bool{!m.At.IsZero(), m.In != 0, m.Priority != 0} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return &message.InvalidError{Field: "Move", Value: fmt.Sprintf("%+v", m), Limit: "one of At, In and Priority, or none of them for now"}
	case m.Priority != 0:
		return validatePriority(t, m.Priority)
	case m.In != 0 || !m.At.IsZero():
		return checked.Due(m.At, m.In)
	}
	return nil
}

func validatePriority(t Topic, priority int64) error {
	if t.Kind.Timed() {
		return &message.InvalidError{Field: "Priority", Value: strconv.FormatInt(priority, 10), Limit: fmt.Sprintf("not given: topic %s is of kind %s", t.Name, t.Kind)}
	}
	return checked.Priority(priority)
}

// script is the move in whole ms, rounded up: never early.
func (m Move) script(t Topic) byhand.Move {
	const almost = time.Millisecond - 1
	to := byhand.Move{
		In: (m.In + almost).Truncate(time.Millisecond), Priority: m.Priority,
		RetryOnly: !t.Kind.Timed() && m.Priority == 0,
	}
	if !m.At.IsZero() {
		to.At = m.At.Add(almost)
	}
	return to
}
