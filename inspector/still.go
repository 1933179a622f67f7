package inspector

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/internal/text/humantime"
)

// A slot stands still if something in it should go on, and nothing does. One look cannot
// distinguish that from a slot at work. So slots that look like it are looked at again after a
// while. They count if nothing has moved, not even the number, which grows with each turn that
// changes something.

// betweenLooks is the time from one look to the next. quiet is how long a slot may look like
// standing still for good reasons, such as slots that move to another worker.
const (
	betweenLooks = 2 * time.Second
	quiet        = 10 * time.Second
)

// still is a slot that stands still, or looks like it.
type still struct {
	topic  Topic
	slot   int
	was    byhand.Counts
	detail string // without its topic and slot
	advice string
	level  Level
}

func (s *still) String() string {
	return fmt.Sprintf("topic %s slot %d: %s", s.topic.Name, s.slot, s.detail)
}

// seemStill are the slots of a topic that look like standing still.
func (i *Inspector) seemStill(ctx context.Context, t Topic, seen seen) []still {
	var held map[string][]int // by workers with a session; nil: they are not known
	if t.Sharing == definition.SharingZooKeeper {
		held, _ = i.heldOf(ctx, t)
	}
	var all []still
	for n, slot := range seen.slots {
		s := still{topic: t, slot: slot, was: seen.counts[n]}
		if s.seems(seen.shares, held) {
			all = append(all, s)
		}
	}
	return all
}

// heldOf are the slots of a topic that each worker with a session says it has.
func (i *Inspector) heldOf(ctx context.Context, t Topic) (map[string][]int, error) {
	if i.cfg.Slots == nil || t.Foreign {
		return nil, nil
	}
	view, err := i.zookeeper.look(ctx, i.cfg.Slots, i.cfg.Namespace)
	if err != nil {
		return nil, err
	}
	held := map[string][]int{}
	for _, w := range view.Workers {
		held[w.ID] = w.Held[t.Name]
	}
	return held, nil
}

// seems reports whether the slot looks like standing still, and notes how.
func (s *still) seems(who shares, held map[string][]int) bool {
	c, now := counted(s.topic, s.slot, &s.was), s.was.Now
	taken := now.Sub(s.was.Taken)
	over := now.Sub(s.was.Until)
	has, lives := held[s.was.Worker]
	switch {
	case c.InFlight > 0 && s.was.Lease > 0 && over > quiet:
		s.level, s.detail = Fail, fmt.Sprintf("a batch of %d, taken %s by %s, whose lease ended %s, and no worker takes it over",
			c.InFlight, humantime.Ago(taken), HolderName(s.was.Worker), humantime.Ago(over))
		s.advice = "start workers that listen to the topic; if there are, look at their logs"
	case c.InFlight == 0 || s.was.Lease > 0:
	case held == nil || taken <= quiet: // it cannot be known
	case !lives:
		s.level, s.detail = Fail, fmt.Sprintf("a batch of %d, taken %s by %s, which has no session any more, and no worker takes it over",
			c.InFlight, humantime.Ago(taken), HolderName(s.was.Worker))
		s.advice = "start workers that listen to the topic; if there are, look at their logs"
	case !slices.Contains(has, s.slot):
		s.level, s.detail = Fail, fmt.Sprintf("a batch of %d, taken %s by %s, which lives, and does not carry it",
			c.InFlight, humantime.Ago(taken), HolderName(s.was.Worker))
		s.advice = "restart that worker: others take the batch over when its session has ended"
	}
	if s.level == "" && c.InFlight == 0 && c.Due > 0 && c.Paused.IsZero() && who.owner(s.slot) != "" &&
		(c.Overdue > quiet || c.Overdue == 0) { // 0: of priorities it is not known
		s.level, s.detail = Warn, fmt.Sprintf("%d due", c.Due)
		if c.Overdue > 0 {
			s.detail += ", the oldest for " + humantime.Duration(c.Overdue)
		}
		s.detail += ", and its worker " + who.owner(s.slot) + " takes none"
		s.advice = "look at that worker's log, whether its handlers keep all places of its Concurrency, or whether it has a Rate, or rests after a Pushback"
		return true
	}
	if s.level != "" && c.Due > 0 {
		s.detail += "; " + plural(c.Due, "message") + " due behind it"
	}
	return s.level != ""
}

// standStill are those in which nothing has moved after a while. It waits only if there are
// any.
func (i *Inspector) standStill(ctx context.Context, seem []still) ([]still, error) {
	if len(seem) == 0 {
		return nil, nil
	}
	if !wait.Sleep(ctx, betweenLooks) {
		return nil, ctx.Err()
	}
	var all []still
	var missed error // of one hides no other
	for _, s := range seem {
		counts, _, err := i.counts(ctx, s.topic, []int{s.slot})
		if err != nil {
			missed = cmp.Or(missed, err)
			continue
		}
		now := counts[0]
		if now.Fence == s.was.Fence && now.Worker == s.was.Worker && now.InFlight == s.was.InFlight && now.Taken.Equal(s.was.Taken) &&
			now.Until.Equal(s.was.Until) && (s.was.InFlight > 0 || now.Due+now.RetryDue > 0 && now.Paused.IsZero()) {
			s.detail += fmt.Sprintf(" (nothing moved between two looks, %s apart)", humantime.Duration(betweenLooks))
			all = append(all, s)
		}
	}
	return all, missed
}
