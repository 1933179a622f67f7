package inspector

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/text/humantime"
)

// waitsFor says what must happen before a message is delivered: nothing if a worker has it. Perhaps it is known what the handler of
// the batch in flight has run for long.
func waitsFor(e *Explanation, f *byhand.Found, who shares, runs *Running) []string {
	var reasons []string
	add := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }

	over := f.Batch > 0 && f.Lease > 0 && !f.Until.After(f.Now) // the lease of the batch in flight
	switch {
	case e.Waiting != nil || e.Retry != nil:
	case over:
		add("a worker to take it over: the lease of %s ended %s", HolderName(f.Worker), humantime.Ago(f.Now.Sub(f.Until)))
		return append(reasons, missing(e, who)...)
	case e.Flight != nil:
		return nil
	default:
		add("you to requeue or delete it")
		return reasons
	}
	switch {
	case f.Paused.IsZero():
	case f.Paused.UnixMilli() == 0: // who paused it did not say when
		add("slot %d to be resumed", e.Slot)
	default:
		add("slot %d to be resumed (paused %s)", e.Slot, humantime.Ago(f.Now.Sub(f.Paused)))
	}
	due, what := firstDue(e)
	later := due.After(f.Now)
	if later {
		add("%s, %s", what, humantime.In(due.Sub(f.Now)))
	}
	switch {
	case over:
		add("the batch of %s, whose lease ended %s, to be taken over", HolderName(f.Worker), humantime.Ago(f.Now.Sub(f.Until)))
	case f.Batch > 0 && runs != nil:
		add("the batch of %s, taken %s; its handler has run %s for %s", HolderName(f.Worker), humantime.Ago(f.Now.Sub(f.Taken)), runs.what(), humantime.Duration(f.Now.Sub(runs.Since)))
	case f.Batch > 0:
		add("the batch of %s, taken %s", HolderName(f.Worker), humantime.Ago(f.Now.Sub(f.Taken)))
	}
	if e.Waiting != nil && e.Before > 0 && !later {
		add("%s before it in slot %d", plural(e.Before, "message"), e.Slot)
	}
	if e.Waiting != nil && e.Beside > 0 {
		add("perhaps %s with the same priority in slot %d", plural(e.Beside, "message"), e.Slot)
	}
	reasons = append(reasons, missing(e, who)...)
	owner := who.owner(e.Slot)
	if since, probes := who.probing[owner]; probes {
		add("something that the handlers of %s need: all messages of the topic have failed there for %s, and one is tried now and then",
			owner, humantime.Duration(f.Now.Sub(since)))
	}
	if len(reasons) == 0 && owner != "" {
		add("its worker, %s, to look", owner)
	} else if len(reasons) == 0 && len(who.takers) > 0 {
		add("a taker to ask for it: by way of %s", strings.Join(slices.Compact(slices.Clone(who.takers)), ", "))
	}
	return reasons
}

// firstDue is when what comes first is due, and what that is: a fresh copy replaces one that waits for its retry.
func firstDue(e *Explanation) (due time.Time, what string) {
	switch {
	case e.Waiting != nil:
		return e.Waiting.Due, "its time"
	case e.Retry.Attempt > 1:
		return e.Retry.Due, "its retry"
	}
	return e.Retry.Due, "its time"
}

// missing says whether there is a worker to deliver it.
func missing(e *Explanation, who shares) []string {
	switch {
	case len(who.takers) > 0:
	case who.workers == 0:
		return []string{"a worker: none listens to this topic"}
	case who.workers > 0 && who.owner(e.Slot) == "":
		return []string{fmt.Sprintf("a worker: slot %d is assigned to none", e.Slot)}
	}
	return nil
}
