package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/inspector/internal/who"
	"github.com/slotmq/go-rmq/inspector/plans"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
)

// longOverdue is how late a plan is that nobody seems to look after. A worker that missed its wake-up
// looks after 30 s, unless its SafetyLook is longer.
const longOverdue = 2 * time.Minute

// overduePlans finds what the doctor says of the plans of a topic: which cannot be read here, and so not by a
// worker on this machine; which should have been sent long ago; and which a wrong clock keeps from
// being sent.
func (d *doctor) overduePlans(ctx context.Context, t ask.Topic, seen who.Seen) ([]finding, error) {
	set, err := plans.Plans{Ground: d.Ground}.List(ctx, t.Name)
	var all []finding
	for _, p := range set {
		if p.Err != nil {
			all = append(all, warn(fmt.Sprintf("%s of topic %s cannot be read here: %s", p.Name, t.Name, ask.OneLine(p.Err)),
				"install the time zones where workers run that say so, or have them run a newer version"))
		}
		n := slices.Index(seen.Slots, p.Slot)
		if n < 0 {
			continue
		}
		if by, strays := strays(p, t, seen.Counts[n].Now); strays {
			all = append(all, warn(fmt.Sprintf("%s of topic %s %s: a clock was far ahead when it was set, or sent", p.Name, t.Name, by),
				"look at the clocks of the servers, and then set it again: rmq every set with the same rule, or start a program that sets it"))
			continue
		}
		if p.Next.IsZero() {
			continue
		}
		late := seen.Counts[n].Now.Sub(p.Next)
		if late <= longOverdue {
			continue
		}
		text := fmt.Sprintf("%s of topic %s is due for %s, and ", p.Name, t.Name, humantime.Duration(late))
		if owner := seen.Owner(p.Slot); owner != "" {
			all = append(all, warn(text+"its worker "+owner+" does not send it",
				"look at that worker's log, and whether its version is older than plans"))
		} else if seen.Workers == 0 && len(seen.Takers) == 0 {
			all = append(all, warn(text+"no worker is there to send it", "start workers that listen to the topic"))
		} else {
			all = append(all, warn(text+"nobody sends it", "look at the logs of the topic's workers, and of the programs that take from it"))
		}
	}
	return all, err
}

// strays tells where a plan stands that a wrong clock has set or moved on, and where it should.
func strays(p plans.Plan, t ask.Topic, now time.Time) (text string, strays bool) {
	if p.Err != nil {
		return "", false
	}
	rule, err := plan.New(t.Topic, p.Recurring, limits.ContentBytes)
	if err != nil || !rule.Strays(p.Set, p.Next, now) {
		return "", false
	}
	text = "has ended"
	if !p.Next.IsZero() {
		text = "sends nothing before " + p.Next.UTC().Format(time.RFC3339)
	}
	if should, comes := rule.Next(slices.MinFunc([]time.Time{p.Set, now}, time.Time.Compare), now); comes {
		text += ", and should next at " + should.Format(time.RFC3339)
	}
	return text, true
}
