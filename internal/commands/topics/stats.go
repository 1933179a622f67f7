package topics

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/text/columns"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

var stats = frame.Command{
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
	Flags: func(flags *frame.Flags) frame.Steps {
		w := &watch{}
		flags.Var(&w.every, "watch", "again and again, `every` 2s or as --watch=10s says, until Ctrl-C")
		flags.Lookup("watch").NoOptDefVal = "2s"
		flags.BoolVar(&w.slots, "slots", false, "each slot by itself, the one first in which most is due")
		return frame.Steps{w.check, frame.Connect, w.run}
	},
}

// watch are the looks of one call of rmq stats: one, unless --watch is given.
type watch struct {
	every   frame.Span
	slots   bool
	changes *trend
}

func (w *watch) check(_ context.Context, c *frame.Call) error {
	if c.Changed("watch") && time.Duration(w.every) < 100*time.Millisecond {
		return frame.Misused("--watch is %s; it must be 100ms or more", time.Duration(w.every))
	}
	return nil
}

func (w *watch) run(ctx context.Context, c *frame.Call) error {
	if !c.Changed("watch") {
		return w.look(ctx, c)
	}
	w.changes = &trend{last: map[string]lookedAt{}}
	return again(ctx, c, time.Duration(w.every), func() error { return w.look(ctx, c) })
}

// again looks again and again. An error after the first time may pass.
func again(ctx context.Context, c *frame.Call, every time.Duration, look func() error) error {
	again := time.NewTicker(every)
	defer again.Stop()
	for n := 0; ; n++ {
		switch {
		case c.JSON:
		case c.Screen.Terminal:
			fmt.Fprintf(c.Out, "\x1b[H\x1b[2Jevery %s, %s\n\n", every, frame.Moment(time.Now()))
		case n > 0:
			fmt.Fprintln(c.Out)
		}
		err := look()
		if ctx.Err() != nil {
			return nil
		}
		var some undefined // the others can be watched
		if err != nil && n == 0 && !errors.As(err, &some) {
			return err
		}
		if err := complain(c, err); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}

// complain says what went wrong with a look.
func complain(c *frame.Call, err error) error {
	lines := c.ReportMissed()
	if err != nil {
		line, _ := c.Explain(err)
		lines = append(lines, line)
	}
	// On a terminal they belong to the page, which the next look clears.
	if c.Screen.Terminal && !c.JSON {
		for _, line := range lines {
			for _, part := range columns.Wrap(c.Name+": "+line, c.Width()) {
				fmt.Fprintln(c.Out, c.Paint(frame.Red, part))
			}
		}
		lines = nil
	}
	err = c.Flush()
	if err == nil {
		c.Complain(lines...)
	}
	return err
}

func (w *watch) look(ctx context.Context, c *frame.Call) error {
	all, err := c.Topics(ctx)
	switch {
	case w.changes != nil && errors.Is(err, inspector.ErrUnknownTopic) && frame.IsSpan(c.Args[0]):
		return frame.Misused("%w; if it is how often to look, write --watch=%s", err, c.Args[0])
	case err != nil:
		return err
	case len(all) == 0 && !c.JSON:
		none(c)
		return nil
	}
	l := &look{Call: c, changes: w.changes}
	if w.slots {
		return l.slots(ctx, all)
	}
	return l.topics(ctx, all)
}

// look is one look at topics.
type look struct {
	*frame.Call
	changes *trend

	table        *frame.Table
	notes, alone []string
	unreadable   undefined
}

func (l *look) topics(ctx context.Context, all []inspector.Topic) error {
	l.table = l.Table("topic", "waiting#", "due#", "overdue#", "flight#", "retry#", "dead#", "workers#", "")
	if err := l.each(all, func(t inspector.Topic) error { return l.topic(ctx, t) }); err != nil {
		return err
	}
	if len(l.alone) > 0 {
		l.notes = append(l.notes, noWorker(l.alone))
	}
	l.table.Notes(l.notes)
	l.changes.show(l.Page)
	return l.withoutDefinition()
}

// each does that with all topics whose definition can be read.
func (l *look) each(all []inspector.Topic, do func(t inspector.Topic) error) error {
	for _, t := range all {
		if t.Slots > 0 {
			if err := do(t); err != nil {
				return err
			}
		} else if !l.Blind(t.Name) { // otherwise the output already says that its server does not answer
			l.unreadable = append(l.unreadable, t.Name)
		}
	}
	return nil
}

func (l *look) topic(ctx context.Context, t inspector.Topic) error {
	s, err := l.Inspector.Stats(ctx, t.Name)
	if err := l.Partly(err); err != nil {
		return err
	}
	change := l.changes.since(s, time.Now())
	if s.Read == 0 {
		return nil
	}
	if l.JSON {
		return l.Object(wire.Watched{Stats: wire.StatsOf(s), Change: change})
	}
	name, workers := words.Legible(t.Name), fmt.Sprint(s.Workers)
	switch {
	case s.Workers < 0:
		workers = "?"
		if !l.Blind(t.Name) {
			l.notes = append(l.notes, name+" "+unseen(l.Call, t))
		}
	case s.Workers == 0 && s.Takers == 0 && s.Due > 0:
		l.alone = append(l.alone, name)
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
		l.notes = append(l.notes, name+" is limited: "+left(s.Policy))
	}
	cells := append([]any{name}, counted(s.Counts, s.Overdue)...)
	l.table.Row(append(cells, workers, frame.Yellow.Of(paused))...)
	return nil
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

func (l *look) withoutDefinition() error {
	if l.unreadable == nil {
		return nil
	}
	if l.JSON {
		for _, name := range l.unreadable {
			l.Object(wire.UndefinedOf(name))
		}
	}
	return l.unreadable
}

// counted are the cells of counts.
func counted(c inspector.Counts, overdue time.Duration) []any {
	late, dead := frame.Painted{Text: "-"}, frame.Painted{Text: fmt.Sprint(c.Dead)}
	if overdue > 0 {
		late.Text = humantime.Duration(overdue)
	}
	if overdue > time.Minute {
		late.Hue = frame.Yellow
	}
	if c.Dead > 0 {
		dead.Hue = frame.Red
	}
	return []any{c.Waiting, c.Due, late, c.InFlight, c.Retrying, dead}
}
