package inspector

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/steps"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/message"
)

// Requeued counts what became of dead messages.
type Requeued struct {
	Stored  int `json:"stored"`           // wait like new ones, with all deliveries
	Merged  int `json:"merged"`           // a live copy goes on as it was, and the dead one is gone
	Gone    int `json:"gone"`             // were not dead any more, or had died again; see [DeadMessages.Requeue]
	Unknown int `json:"priority_unknown"` // are still dead, because their priority is not known; see [RequeueOptions]
	Lost    int `json:"lost,omitempty"`   // may be stored or merged, as the answer is lost; they count against a Limit
}

// RequeueOptions of [DeadMessages.Requeue].
type RequeueOptions struct {
	// Rate is how many messages a second, in steps of a tenth of a second. Defaults to 0: as
	// fast as it goes.
	Rate float64

	// Priority is given to all of them, in a priority topic. Defaults to 0: each gets the
	// one it was sent with.
	Priority int64

	// Progress is called after each step with what became of all messages so far. Defaults
	// to nil: no calls.
	Progress func(Requeued)
}

func (o RequeueOptions) validate(t Topic) error {
	if r := o.Rate; r != 0 && !limits.Rate(r) {
		return &message.InvalidError{Field: "Rate", Value: strconv.FormatFloat(r, 'g', -1, 64), Limit: "from 0.001 to 1000000 a second, or 0 for as fast as it goes"}
	}
	if o.Priority == 0 {
		return nil
	}
	return validatePriority(t, o.Priority)
}

// Requeue delivers dead messages again, with all 17 deliveries: those of the time kinds
// now, those of priority topics with their priority. If an equal message waits, is in flight
// or waits for its retry, that one is left as it is, and the dead one merges into it.
//
// Messages that die after the call has begun are left alone, so a message that keeps failing
// is not requeued in a loop. At most Limit messages are requeued.
//
// When ctx ends, it stops between two steps; the error wraps that of ctx. What was requeued
// stays so. Call it again to go on with the rest. If the answer to a step is lost, the step is
// repeated, and what the first try did counts as Lost. So does the whole step if no answer
// comes at all; then there is an error.
func (d DeadMessages) Requeue(ctx context.Context, topic string, q DeadQuery, o RequeueOptions) (Requeued, error) {
	var done Requeued
	t, err := d.i.w.About(ctx, "requeue dead messages of topic "+topic, topic)
	if err != nil {
		return done, err
	}
	if err = o.validate(t); err == nil {
		err = d.takeOut(ctx, t, q, o.Rate, steps.Removal{
			Call: func(k protocol.SlotKeys, dead []byhand.DeadItem) redis.Cmder {
				return byhand.RequeueCmd(context.WithoutCancel(ctx), k, t.Notes, !t.Kind.Timed(), o.Priority, dead)
			},
			Journal: d.i.steps.TellRequeued(ctx, t, o.Priority),
			Note: func(r byhand.DeadResult) {
				switch r {
				case byhand.Stored:
					done.Stored++
				case byhand.Merged:
					done.Merged++
				case byhand.Unknown:
					done.Unknown++
				case steps.Lost:
					done.Lost++
				default:
					done.Gone++
				}
			},
			After: func(answered []*steps.InSlot) {
				which := make([]int, len(answered))
				for n, s := range answered {
					which[n] = s.Slot
				}
				d.i.w.Wake(context.WithoutCancel(ctx), t, which, 0)
				if o.Progress != nil {
					o.Progress(done)
				}
			},
		})
	}
	if err != nil {
		return done, fmt.Errorf("requeue dead messages of topic %s: %w", topic, err)
	}
	return done, nil
}

// Delete forgets dead messages, and returns how many, and how many more may be gone
// because an answer is lost. It goes on and stops as Requeue does. After each step it
// calls progress, unless that is nil, with the number so far.
func (d DeadMessages) Delete(ctx context.Context, topic string, q DeadQuery, progress func(deleted int)) (deleted, unsure int, err error) {
	t, err := d.i.w.About(ctx, "delete dead messages of topic "+topic, topic)
	if err != nil {
		return 0, 0, err
	}
	x := d.i.steps.Deletion(ctx, t, &deleted, &unsure)
	x.After = func([]*steps.InSlot) {
		if progress != nil {
			progress(deleted)
		}
	}
	err = d.takeOut(ctx, t, q, 0, x)
	if err != nil {
		return deleted, unsure, fmt.Errorf("delete dead messages of topic %s: %w", topic, err)
	}
	return deleted, unsure, nil
}
