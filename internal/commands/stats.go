package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/columns"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
)

func (a *app) statsCommand() *cobra.Command {
	var every span
	var slots bool
	cmd := &cobra.Command{
		Use:   "stats [TOPIC]",
		Short: "Count what waits, runs, fails and is dead",
		Long: `Count what waits, runs, fails and is dead, in each topic or in one.

  waiting   for a first delivery, due or not
  due       could be handled now, first deliveries and retries
  overdue   how long the oldest of these has been due; not known of priorities
  flight    workers have them
  retry     failed, and wait for their next attempt
  dead      failed for good; rmq dead list shows why
  workers   that take part; ? if ZooKeeper has them, and you gave no --zk or
            not the --namespace of the topic; + programs that take batches for
            others, such as gateways

Below the table stands which topics are limited by rmq limit, and for how long.

With --watch it also shows by how many a second the counts have changed since
the last look: -120 is 120 fewer. That is what came minus what went. Redis does
not count how many came and how many went; the metrics of your programs do.`,
		Example: `  rmq stats
  rmq stats orders --slots
  rmq stats --watch=5s`,
		RunE: func(cmd *cobra.Command, args []string) error {
			watching := cmd.Flags().Changed("watch")
			if watching && time.Duration(every) < 100*time.Millisecond {
				return misused("--watch is %s; it must be 100ms or more", time.Duration(every))
			}
			ctx := cmd.Context()
			i, err := a.inspector(ctx)
			if err != nil {
				return err
			}
			var changes *trend
			if watching {
				changes = &trend{last: map[string]lookedAt{}}
			}
			look := func() error {
				topics, err := a.topicsOf(ctx, i, args)
				switch {
				case watching && errors.Is(err, inspector.ErrUnknownTopic) && isSpan(args[0]):
					return misused("%w; if it is how often to look, write --watch=%s", err, args[0])
				case err != nil:
					return err
				case slots:
					return a.countSlots(ctx, i, topics)
				}
				return a.countTopics(ctx, i, topics, changes)
			}
			if !watching {
				return look()
			}
			return a.watch(ctx, time.Duration(every), look)
		},
	}
	cmd.Flags().Var(&every, "watch", "again and again, `every` 2s or as --watch=10s says, until Ctrl-C")
	cmd.Flags().Lookup("watch").NoOptDefVal = "2s"
	cmd.Flags().BoolVar(&slots, "slots", false, "each slot by itself, the one first in which most is due")
	return cmd
}

// watch counts again and again. An error after the first time may pass.
func (a *app) watch(ctx context.Context, every time.Duration, look func() error) error {
	again := time.NewTicker(every)
	defer again.Stop()
	for n := 0; ; n++ {
		switch {
		case a.json:
		case a.screen.terminal:
			fmt.Fprintf(a.out, "\x1b[H\x1b[2Jevery %s, %s\n\n", every, moment(time.Now()))
		case n > 0:
			fmt.Fprintln(a.out)
		}
		err := look()
		if ctx.Err() != nil {
			return nil
		}
		var some undefined // the others can be watched
		if err != nil && n == 0 && !errors.As(err, &some) {
			return err
		}
		lines, merr := a.reportMissed()
		if merr != nil {
			return merr
		}
		if err != nil {
			line, _ := a.explain(err)
			lines = append(lines, line)
		}
		// On a terminal they belong to the page, which the next look clears.
		if a.screen.terminal && !a.json {
			for _, line := range lines {
				for _, part := range columns.Wrap(a.Name+": "+line, a.width()) {
					fmt.Fprintln(a.out, a.paint(red, part))
				}
			}
			lines = nil
		}
		if err := a.flush(); err != nil {
			return err
		}
		for _, line := range lines {
			fmt.Fprintln(a.errs, a.Name+": "+line)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}

// topicsOf is the topic named, or all.
func (a *app) topicsOf(ctx context.Context, i *inspector.Inspector, args []string) ([]inspector.Topic, error) {
	if len(args) == 0 {
		topics, err := i.Topics(ctx)
		return topics, a.partly(err)
	}
	t, err := i.Topic(ctx, args[0])
	return []inspector.Topic{t}, err
}

func (a *app) countTopics(ctx context.Context, i *inspector.Inspector, topics []inspector.Topic, changes *trend) error {
	if len(topics) == 0 && !a.json {
		a.noTopics()
		return nil
	}
	table := a.table("topic", "waiting#", "due#", "overdue#", "flight#", "retry#", "dead#", "workers#", "")
	var notes, alone []string
	var unreadable undefined
	for _, t := range topics {
		if t.Slots == 0 {
			unreadable = a.unread(unreadable, t.Name)
			continue
		}
		s, err := i.Stats(ctx, t.Name)
		if err := a.partly(err); err != nil {
			return err
		}
		change := changes.since(s, time.Now())
		if s.Read == 0 {
			continue
		}
		if a.json {
			if err := a.object(wire.Watched{Stats: wire.StatsOf(s), Change: change}); err != nil {
				return err
			}
			continue
		}
		workers := fmt.Sprint(s.Workers)
		switch {
		case s.Workers < 0 && a.blind(t.Name):
			workers = "?"
		case s.Workers < 0:
			workers = "?"
			notes = append(notes, words.Legible(t.Name)+" "+a.unseenWhy(t))
		case s.Workers == 0 && s.Takers == 0 && s.Due > 0:
			alone = append(alone, words.Legible(t.Name))
		}
		if s.Takers > 0 {
			workers += " + " + words.Count(s.Takers, "taker")
		}
		paused := ""
		switch {
		case s.Read < t.Slots:
			paused = fmt.Sprintf("%d of %s", s.Read, words.Count(t.Slots, "slot"))
		case s.Paused == t.Slots:
			paused = "paused"
		case s.Paused > 0:
			paused = words.Count(s.Paused, "slot") + " paused"
		}
		if s.Policy != (inspector.Policy{}) {
			notes = append(notes, words.Legible(t.Name)+" is limited: "+left(s.Policy))
		}
		cells := append([]any{words.Legible(t.Name)}, counted(s.Counts, s.Overdue)...)
		table.row(append(cells, workers, painted{paused, yellow})...)
	}
	if len(alone) > 0 {
		notes = append(notes, noWorker(alone))
	}
	if err := a.withNotes(table, notes); err != nil {
		return err
	}
	if err := a.showTrend(changes); err != nil {
		return err
	}
	return a.withoutDefinition(unreadable)
}

// noWorker says in one line which topics have due messages, and no workers.
func noWorker(topics []string) string {
	const most = 3
	them, names := "them", strings.Join(topics[:min(most, len(topics))], ", ")
	if more := len(topics) - most; more > 0 {
		names += fmt.Sprintf(" and %s more", words.Grouped(more))
	}
	if len(topics) == 1 {
		them = "it"
	}
	return fmt.Sprintf("no worker: %s; does a program listen to %s, in this namespace?", names, them)
}

// undefined are topics whose definition cannot be read, so that nothing can be counted. The
// others are printed all the same.
type undefined []string

func (u undefined) Error() string {
	names := make([]string, len(u))
	for n, name := range u {
		names[n] = words.Legible(name)
	}
	verb := "has"
	if len(u) > 1 {
		verb = "have"
	}
	return fmt.Sprintf("%s %s no definition that can be read: the doctor says more", strings.Join(names, ", "), verb)
}

// unread adds a topic, unless the output has already that its server does not answer.
func (a *app) unread(u undefined, topic string) undefined {
	if a.blind(topic) {
		return u
	}
	return append(u, topic)
}

func (a *app) withoutDefinition(u undefined) error {
	if u == nil {
		return nil
	}
	if a.json {
		for _, name := range u {
			if err := a.object(wire.UndefinedOf(name)); err != nil {
				return err
			}
		}
	}
	return u
}

// counted are the cells of counts.
func counted(c inspector.Counts, overdue time.Duration) []any {
	late, dead := painted{text: "-"}, painted{text: fmt.Sprint(c.Dead)}
	if overdue > 0 {
		late.text = humantime.Duration(overdue)
	}
	if overdue > time.Minute {
		late.hue = yellow
	}
	if c.Dead > 0 {
		dead.hue = red
	}
	return []any{c.Waiting, c.Due, late, c.InFlight, c.Retrying, dead}
}

// withNotes ends a table and prints notes about it. JSON needs none.
func (a *app) withNotes(t *table, notes []string) error {
	if err := t.end(); err != nil || a.json || len(notes) == 0 {
		return err
	}
	fmt.Fprintln(a.out)
	for _, n := range notes {
		a.say("%s", n)
	}
	return nil
}
