package commands

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/columns"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
)

func (a *app) workersCommand() *cobra.Command {
	return &cobra.Command{
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			i, err := a.inspector(ctx)
			if err != nil {
				return err
			}
			workers, err := i.Workers(ctx)
			if err := a.partly(err); err != nil {
				return err
			}
			unseen, err := i.Unseen(ctx)
			if err := a.partly(err); err != nil {
				return err
			}
			vanished, err := i.Vanished(ctx)
			if err := a.partly(err); err != nil {
				return err
			}
			if a.json {
				return a.workerObjects(workers, unseen, vanished)
			}
			now, err := a.now(ctx)
			if err != nil {
				return err
			}
			return a.showWorkers(workers, unseen, vanished, now)
		},
	}
}

// unseenWhy is why the workers of a topic are not seen, and what shows them.
func (a *app) unseenWhy(t inspector.Topic) string {
	asked := a.zooKeeperConfig().Servers != nil
	switch {
	case t.Foreign && t.Namespace == "" && asked:
		return "is of no namespace: without --namespace its workers are seen"
	case t.Foreign && t.Namespace == "":
		return "is of no namespace: --zk, without --namespace, shows its workers"
	case t.Foreign && asked:
		return "is of namespace " + t.Namespace + ": --namespace " + t.Namespace + " shows its workers"
	case t.Foreign:
		return "is of namespace " + t.Namespace + ": --zk and --namespace " + t.Namespace + " show its workers"
	case asked:
		return "is shared by ZooKeeper, which does not answer: " + a.Name + " doctor says why"
	}
	return "is shared by ZooKeeper: --zk shows its workers"
}

func (a *app) workerObjects(workers []inspector.Worker, unseen []inspector.Topic, vanished []inspector.Vanished) error {
	for _, w := range workers {
		if err := a.object(wire.WorkerOf(w, a.base64)); err != nil {
			return err
		}
	}
	for _, v := range vanished {
		if err := a.object(wire.VanishedOf(v)); err != nil {
			return err
		}
	}
	for _, t := range unseen {
		if err := a.object(wire.Unseen{Topic: t.Name, Why: "it " + a.unseenWhy(t)}); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) showWorkers(workers []inspector.Worker, unseen []inspector.Topic, vanished []inspector.Vanished, now time.Time) error {
	notes := lastSeen(vanished, now)
	for _, t := range unseen {
		notes = append(notes, words.Legible(t.Name)+" "+a.unseenWhy(t))
	}
	if len(workers) == 0 {
		notes = append([]string{"no workers" + a.whereLooked()}, notes...)
		for _, n := range notes {
			a.say("%s", n)
		}
		return nil
	}
	table := a.table("worker", "topic", "slots#", "which", "state")
	for _, w := range workers {
		names := slices.Collect(maps.Keys(w.Assigned))
		for topic := range w.Held { // it may still have some that are no longer assigned to it
			if _, both := w.Assigned[topic]; !both {
				names = append(names, topic)
			}
		}
		slices.Sort(names)
		if names == nil {
			names = []string{""}
		}
		for _, topic := range names {
			var state []string
			if w.Leaving {
				state = append(state, "leaving")
			}
			if w.Unlisted {
				state = append(state, "not listed")
			}
			if w.Held != nil && !slices.Equal(w.Held[topic], w.Assigned[topic]) {
				has := "none"
				if len(w.Held[topic]) > 0 {
					has = wire.Ranges(w.Held[topic])
				}
				state = append(state, "now has "+has)
			}
			if since, probing := w.Probing[topic]; probing {
				state = append(state, "probing since "+moment(since))
			}
			name := ""
			if topic != "" {
				name = words.Legible(topic)
			}
			assigned := w.Assigned[topic]
			table.row(words.Legible(inspector.HolderName(w.ID)), name, len(assigned), wire.Ranges(assigned), painted{strings.Join(state, ", "), yellow})
		}
	}
	return a.withNotes(table, append(a.longRuns(workers, now), notes...))
}

// mostVanished is how many workers that vanished are named by themselves. More are counted.
const mostVanished = 10

// lastSeen says which workers vanished, the latest first.
func lastSeen(vanished []inspector.Vanished, now time.Time) (notes []string) {
	for _, v := range vanished[:min(mostVanished, len(vanished))] {
		topics := words.Legible(v.Topics[0])
		if more := len(v.Topics) - 1; more > 0 {
			topics += " and " + words.Count(more, "other topic")
		}
		notes = append(notes, fmt.Sprintf("%s was last seen about %s, at %s; it was not closed", words.Legible(v.Worker), humantime.Ago(now.Sub(v.Until)), topics))
	}
	if more := len(vanished) - mostVanished; more > 0 {
		notes = append(notes, fmt.Sprintf("and %s before, within a day", words.Count(more, "worker")))
	}
	return notes
}

// mostRuns is how many handlers that run for long are named by themselves. More are counted.
const mostRuns = 10

// longRuns says what handlers have run for long, the longest first.
func (a *app) longRuns(workers []inspector.Worker, now time.Time) (notes []string) {
	var all []inspector.Running
	for _, w := range workers {
		all = append(all, w.Running...)
	}
	slices.SortStableFunc(all, func(a, b inspector.Running) int { return a.Since.Compare(b.Since) })
	for _, r := range all[:min(mostRuns, len(all))] {
		ran := humantime.Duration(now.Sub(r.Since))
		if now.Sub(r.Since) > r.Timeout {
			ran += ", longer than its Timeout, " + humantime.Duration(r.Timeout)
		}
		more := ""
		if r.Count > 1 {
			more = fmt.Sprintf(" and %d more", r.Count-1)
		}
		notes = append(notes, fmt.Sprintf("a handler of %s has run %s%s, slot %d of %s, for %s", words.Legible(r.Worker), columns.Shorten(a.text(r.Content), 60), more, r.Slot, words.Legible(r.Topic), ran))
	}
	if more := len(all) - mostRuns; more > 0 {
		notes = append(notes, fmt.Sprintf("and %s for less", words.Count(more, "handler")))
	}
	return notes
}
