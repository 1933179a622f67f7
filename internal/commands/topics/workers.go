package topics

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

var workers = frame.Command{
	Use:   "workers",
	Short: "List the workers and the slots they have",
	Long: `List the workers and the slots they have.

Workers of topics that are shared by ZooKeeper are shown only with --zk and the
--namespace of the topic, with the slots that they really have. Without these
flags the topics are named, in JSON as unseen_topic.

Below the table stands which handlers have run for more than 5 seconds, with
their message; it takes a few seconds more until they are shown. For each
message of a batch, rmq explain says what its handler runs.

A worker that vanished, because it was killed, say, is shown for a day after it
was last seen, unless it comes back. This is not known of workers that share
their topics by ZooKeeper.

A worker that is "probing" tries only one message of the topic now and then,
because all of them fail: what its handlers need is away. A "(taker)" is a
program that takes batches for others, such as a gateway: no slots are its own.
One that is "not listed" has a handler that still runs, or ran until a moment
ago, but shares the topic no more, or is not seen without --zk.`,
	Example: `  rmq workers
  rmq workers --zk zk1:2181,zk2:2181,zk3:2181`,
	Steps: frame.Steps{frame.Connect, func(ctx context.Context, c *frame.Call) (err error) {
		f := fleet{Call: c}
		if f.workers, err = c.Inspector.Workers(ctx); c.Partly(err) != nil {
			return err
		}
		if f.unseen, err = c.Inspector.Unseen(ctx); c.Partly(err) != nil {
			return err
		}
		if f.vanished, err = c.Inspector.Vanished(ctx); c.Partly(err) != nil {
			return err
		}
		if c.JSON {
			f.objects()
			return nil
		}
		if err = frame.Timed(ctx, c); err == nil {
			f.show()
		}
		return err
	}},
}

// fleet are the workers, as one look finds them.
type fleet struct {
	*frame.Call
	workers  []inspector.Worker
	unseen   []inspector.Topic
	vanished []inspector.Vanished
}

func (f *fleet) objects() {
	for _, w := range f.workers {
		f.Object(wire.WorkerOf(w, f.Base64))
	}
	for _, v := range f.vanished {
		f.Object(wire.VanishedOf(v))
	}
	for _, t := range f.unseen {
		f.Object(wire.Unseen{Topic: t.Name, Why: "it " + unseen(f.Call, t)})
	}
}

func (f *fleet) show() {
	notes := f.lastSeen()
	for _, t := range f.unseen {
		notes = append(notes, words.Legible(t.Name)+" "+unseen(f.Call, t))
	}
	if len(f.workers) == 0 {
		for _, n := range append([]string{"no workers" + f.WhereLooked()}, notes...) {
			f.Say("%s", n)
		}
		return
	}
	table := f.Table("worker", "topic", "slots#", "which", "state")
	for _, w := range f.workers {
		// It may still have some that are no longer assigned to it.
		topics := slices.AppendSeq(slices.Collect(maps.Keys(w.Assigned)), maps.Keys(w.Held))
		slices.Sort(topics)
		if topics == nil {
			topics = []string{""}
		}
		for _, topic := range slices.Compact(topics) {
			name := ""
			if topic != "" {
				name = words.Legible(topic)
			}
			assigned := w.Assigned[topic]
			table.Row(words.Legible(protocol.HolderName(w.ID)), name, len(assigned), wire.Ranges(assigned), frame.Yellow.Of(state(w, topic)))
		}
	}
	table.Notes(append(f.longRuns(), notes...))
}

// state is what is special about a worker at a topic.
func state(w inspector.Worker, topic string) string {
	var all []string
	if w.Leaving {
		all = append(all, "leaving")
	}
	if w.Unlisted {
		all = append(all, "not listed")
	}
	if w.Held != nil && !slices.Equal(w.Held[topic], w.Assigned[topic]) {
		all = append(all, "now has "+cmp.Or(wire.Ranges(w.Held[topic]), "none"))
	}
	if since, probing := w.Probing[topic]; probing {
		all = append(all, "probing since "+frame.Moment(since))
	}
	return strings.Join(all, ", ")
}

// mostVanished is how many workers that vanished are named by themselves. More are counted.
const mostVanished = 10

// lastSeen says which workers vanished, the latest first.
func (f *fleet) lastSeen() (notes []string) {
	for _, v := range f.vanished[:min(mostVanished, len(f.vanished))] {
		topics := words.Legible(v.Topics[0])
		if more := len(v.Topics) - 1; more > 0 {
			topics += " and " + words.Count(more, "other topic")
		}
		notes = append(notes, fmt.Sprintf("%s was last seen about %s, at %s; it was not closed", words.Legible(v.Worker), humantime.Ago(f.Now.Sub(v.Until)), topics))
	}
	if more := len(f.vanished) - mostVanished; more > 0 {
		notes = append(notes, fmt.Sprintf("and %s before, within a day", words.Count(more, "worker")))
	}
	return notes
}

// mostRuns is how many handlers that run for long are named by themselves. More are counted.
const mostRuns = 10

// longRuns says what handlers have run for long, the longest first.
func (f *fleet) longRuns() (notes []string) {
	var all []inspector.Running
	for _, w := range f.workers {
		all = append(all, w.Running...)
	}
	slices.SortStableFunc(all, func(a, b inspector.Running) int { return a.Since.Compare(b.Since) })
	for _, r := range all[:min(mostRuns, len(all))] {
		ran := humantime.Duration(f.Now.Sub(r.Since))
		if f.Now.Sub(r.Since) > r.Timeout {
			ran += ", longer than its Timeout, " + humantime.Duration(r.Timeout)
		}
		more := ""
		if r.Count > 1 {
			more = fmt.Sprintf(" and %d more", r.Count-1)
		}
		notes = append(notes, fmt.Sprintf("a handler of %s has run %s%s, slot %d of %s, for %s", words.Legible(r.Worker), f.Brief(r.Content), more, r.Slot, words.Legible(r.Topic), ran))
	}
	if more := len(all) - mostRuns; more > 0 {
		notes = append(notes, fmt.Sprintf("and %s for less", words.Count(more, "handler")))
	}
	return notes
}
