package inspector

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/inspector/internal/who"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/text/humantime"
)

// waitsFor says what must happen before a message is delivered: nothing if a worker has it. Perhaps it is known what the handler of
// the batch in flight has run for long.
func waitsFor(e *Explanation, f *byhand.Found, shares who.Shares, runs *Running) []string {
	var reasons []string
	add := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }

	over := f.Batch > 0 && f.Lease > 0 && !f.Until.After(f.Now) // the lease of the batch in flight
	switch {
	case e.Waiting != nil || e.Retry != nil:
	case over:
		add("a worker to take it over: the lease of %s ended %s", protocol.HolderName(f.Worker), humantime.Ago(f.Now.Sub(f.Until)))
		return append(reasons, missing(e, shares)...)
	case e.Flight != nil:
		return nil
	default:
		add("you to requeue or delete it")
		return reasons
	}
	reasons = append(reasons, resumed(e, f)...)
	due, event := firstDue(e)
	later := due.After(f.Now)
	if later {
		add("%s, %s", event, humantime.In(due.Sub(f.Now)))
	}
	reasons = append(reasons, batchOf(f, over, runs)...)
	reasons = append(reasons, ahead(e, later)...)
	reasons = append(reasons, missing(e, shares)...)
	owner := shares.Owner(e.Slot)
	if since, probes := shares.Probing[owner]; probes {
		add("something that the handlers of %s need: all messages of the topic have failed there for %s, and one is tried now and then",
			owner, humantime.Duration(f.Now.Sub(since)))
	}
	if len(reasons) == 0 && owner != "" {
		add("its worker, %s, to look", owner)
	} else if len(reasons) == 0 && len(shares.Takers) > 0 {
		add("a taker to ask for it: by way of %s", strings.Join(slices.Compact(slices.Clone(shares.Takers)), ", "))
	}
	return reasons
}

// resumed says whether the slot is paused.
func resumed(e *Explanation, f *byhand.Found) []string {
	switch {
	case f.Paused.IsZero():
		return nil
	case f.Paused.UnixMilli() == 0: // who paused it did not say when
		return []string{fmt.Sprintf("slot %d to be resumed", e.Slot)}
	}
	return []string{fmt.Sprintf("slot %d to be resumed (paused %s)", e.Slot, humantime.Ago(f.Now.Sub(f.Paused)))}
}

// batchOf says which batch is in flight.
func batchOf(f *byhand.Found, over bool, runs *Running) []string {
	if f.Batch == 0 {
		return nil
	}
	taken := "the batch of " + protocol.HolderName(f.Worker)
	switch {
	case over:
		return []string{fmt.Sprintf("%s, whose lease ended %s, to be taken over", taken, humantime.Ago(f.Now.Sub(f.Until)))}
	case runs != nil:
		return []string{fmt.Sprintf("%s, taken %s; its handler has run %s for %s", taken, humantime.Ago(f.Now.Sub(f.Taken)), who.What(runs), humantime.Duration(f.Now.Sub(runs.Since)))}
	}
	return []string{fmt.Sprintf("%s, taken %s", taken, humantime.Ago(f.Now.Sub(f.Taken)))}
}

// ahead says which messages of the slot come first, and which may.
func ahead(e *Explanation, later bool) (all []string) {
	if e.Waiting == nil {
		return nil
	}
	if e.Before > 0 && !later {
		all = append(all, fmt.Sprintf("%s before it in slot %d", ask.Plural(e.Before, "message"), e.Slot))
	}
	if e.Beside > 0 {
		all = append(all, fmt.Sprintf("perhaps %s with the same priority in slot %d", ask.Plural(e.Beside, "message"), e.Slot))
	}
	return all
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
func missing(e *Explanation, shares who.Shares) []string {
	switch {
	case len(shares.Takers) > 0:
	case shares.Workers == 0:
		return []string{"a worker: none listens to this topic"}
	case shares.Workers > 0 && shares.Owner(e.Slot) == "":
		return []string{fmt.Sprintf("a worker: slot %d is assigned to none", e.Slot)}
	}
	return nil
}
