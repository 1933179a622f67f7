package who

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/internal/text/humantime"
)

// A slot is stuck if something in it should go on, and nothing does. One look cannot
// distinguish that from a slot at work. So slots that look like it are looked at again after a
// while. They count if nothing has moved, not even the number, which grows with each turn that
// changes something.

// betweenLooks is the time from one look to the next. quiet is how long a slot may look like
// stuck for good reasons, such as slots that move to another worker.
const (
	betweenLooks = 2 * time.Second
	quiet        = 10 * time.Second
)

// Stuck is a slot that is stuck, or looks like it.
type Stuck struct {
	Topic  ask.Topic
	Slot   int
	was    byhand.Counts
	Detail string // without its topic and slot
	Advice string
	Batch  bool // one is in flight, and will stay so; else its worker takes nothing
}

func (s *Stuck) String() string {
	return fmt.Sprintf("topic %s slot %d: %s", s.Topic.Name, s.Slot, s.Detail)
}

// SeemStuck are the slots of a topic that look like being stuck.
func (w *Who) SeemStuck(ctx context.Context, t ask.Topic, seen Seen) []Stuck {
	var held map[string][]int // by workers with a session; nil: they are not known
	if t.Sharing == definition.SharingZooKeeper {
		held, _ = w.heldOf(ctx, t)
	}
	var all []Stuck
	for n, slot := range seen.Slots {
		s := Stuck{Topic: t, Slot: slot, was: seen.Counts[n]}
		s.batchStays(held)
		if s.Detail == "" {
			s.noneTaken(seen.Owner(slot))
		}
		if s.Detail != "" {
			all = append(all, s)
		}
	}
	return all
}

// heldOf are the slots of a topic that each worker with a session says it has.
func (w *Who) heldOf(ctx context.Context, t ask.Topic) (map[string][]int, error) {
	if w.Slots == nil || t.Foreign {
		return nil, nil
	}
	view, err := w.ZooKeeper(ctx)
	if err != nil {
		return nil, err
	}
	held := map[string][]int{}
	for _, w := range view.Workers {
		held[w.ID] = w.Held[t.Name]
	}
	return held, nil
}

// batchStays notes that nobody goes on with a batch in flight, if it looks like that.
func (s *Stuck) batchStays(held map[string][]int) {
	c := &s.was
	taken, over := c.Now.Sub(c.Taken), c.Now.Sub(c.Until)
	has, lives := held[c.Worker]
	why, start := "", "start workers that listen to the topic; if there are, look at their logs"
	switch {
	case c.InFlight == 0:
	case c.Lease > 0:
		if over > quiet {
			why, s.Advice = "whose lease ended "+humantime.Ago(over)+", and no worker takes it over", start
		}
	case held == nil || taken <= quiet: // it cannot be known
	case !lives:
		why, s.Advice = "which has no session any more, and no worker takes it over", start
	case !slices.Contains(has, s.Slot):
		why, s.Advice = "which lives, and does not carry it", "restart that worker: others take the batch over when its session has ended"
	}
	if why == "" {
		return
	}
	s.Batch, s.Detail = true, fmt.Sprintf("a batch of %d, taken %s by %s, %s", c.InFlight, humantime.Ago(taken), protocol.HolderName(c.Worker), why)
	if due := DueIn(c); due > 0 {
		s.Detail += "; " + ask.Plural(due, "message") + " due behind it"
	}
}

// noneTaken notes that the owner of a slot takes nothing of what is due, if it looks like that.
func (s *Stuck) noneTaken(owner string) {
	due := DueIn(&s.was)
	_, _, overdue := FirstOf(s.Topic, &s.was)
	if s.was.InFlight > 0 || due == 0 || !s.was.Paused.IsZero() || owner == "" || overdue > 0 && overdue <= quiet { // 0: of priorities it is not known
		return
	}
	s.Detail = fmt.Sprintf("%d due", due)
	if overdue > 0 {
		s.Detail += ", the oldest for " + humantime.Duration(overdue)
	}
	s.Detail += ", and its worker " + owner + " takes none"
	s.Advice = "look at that worker's log, whether its handlers keep all places of its Concurrency, or whether it has a Rate, or rests after a Pushback"
}

// DueIn is how many messages of a slot could be handled now.
func DueIn(c *byhand.Counts) int { return c.Due + c.RetryDue }

// StayStuck are those in which nothing has moved after a while. It waits only if there are
// any.
func (w *Who) StayStuck(ctx context.Context, seem []Stuck) ([]Stuck, error) {
	if len(seem) == 0 {
		return nil, nil
	}
	if !wait.Sleep(ctx, betweenLooks) {
		return nil, ctx.Err()
	}
	var all []Stuck
	var missed error // of one hides no other
	for _, s := range seem {
		counts, _, err := w.Counts(ctx, s.Topic, []int{s.Slot})
		if err != nil {
			missed = cmp.Or(missed, err)
			continue
		}
		now := counts[0]
		if now.Fence == s.was.Fence && now.Worker == s.was.Worker && now.InFlight == s.was.InFlight && now.Taken.Equal(s.was.Taken) &&
			now.Until.Equal(s.was.Until) && (s.was.InFlight > 0 || now.Due+now.RetryDue > 0 && now.Paused.IsZero()) {
			s.Detail += fmt.Sprintf(" (nothing moved between two looks, %s apart)", humantime.Duration(betweenLooks))
			all = append(all, s)
		}
	}
	return all, missed
}
