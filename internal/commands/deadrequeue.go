package commands

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
)

func (a *app) deadRequeueCommand() *cobra.Command {
	var f *deadFilter
	var rate pace
	var priority int64
	var dry, yes bool
	cmd := &cobra.Command{
		Use:   "requeue TOPIC [CONTENT]",
		Short: "Have dead messages delivered again",
		Long: `Have dead messages delivered again: one content, or all that the flags choose,
the oldest death first. Each gets all its deliveries anew. It is due now, or in
a priority topic has the priority it was sent with. Where a live copy exists,
that one goes on as it is, and the dead one is gone.

Only those are meant that died before the beginning, so one that dies again is
not met again. It may be interrupted at any time, and says how to go on.`,
		Example: `  rmq dead requeue orders "order 4711"
  rmq dead requeue orders --rate 100/s
  rmq dead requeue orders --reason "timed out" --newer-than 2h --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("priority") && priority == 0 { // which the inspector takes for none
				return misused("--priority is 0; it must be 17 or more")
			}
			ctx := cmd.Context()
			r := &requeue{app: a, cmd: cmd, args: args, filter: f, dry: dry,
				options: inspector.RequeueOptions{Rate: float64(rate), Priority: priority}}
			if len(args) == 2 {
				return r.one(ctx)
			}
			return r.many(ctx, yes)
		},
	}
	f = filters(cmd, 0)
	flags := cmd.Flags()
	flags.Var(&rate, "rate", "so many a second, as in 100/s or 5000/m; as fast as it goes unless it is given")
	flags.Int64Var(&priority, "priority", 0, "give all of them priority `n`, 17 or more; each its own unless it is given")
	flags.BoolVar(&dry, "dry-run", false, "only say how many it would be")
	asks(cmd, &yes)
	return cmd
}

// requeue is one call of rmq dead requeue.
type requeue struct {
	*app
	cmd     *cobra.Command
	args    []string
	filter  *deadFilter
	dry     bool
	options inspector.RequeueOptions
	done    inspector.Requeued
}

// one requeues one content, wherever it is dead.
func (r *requeue) one(ctx context.Context) error {
	found, err := r.named(ctx, r.cmd, r.args, r.filter)
	if err != nil {
		return err
	}
	if err := r.valid(ctx, found.inspector); err != nil {
		return err
	}
	if r.dry {
		return r.would(len(found.entries))
	}
	for _, e := range found.entries {
		done, err := found.inspector.DeadRequeue(ctx, r.args[0], only(e), r.options)
		r.done = sum(r.done, done)
		if err != nil {
			return err
		}
	}
	return r.report(0, "")
}

// many requeues what the flags choose.
func (r *requeue) many(ctx context.Context, yes bool) error {
	i, err := r.inspector(ctx)
	if err != nil {
		return err
	}
	q, err := r.upTo(ctx, i, r.args[0], r.filter)
	if err != nil {
		return err
	}
	if err := r.valid(ctx, i); err != nil { // before the question
		return err
	}
	total, err := i.DeadCount(ctx, r.args[0], q)
	if err != nil {
		return err
	}
	if r.dry {
		return r.would(total)
	}
	if total > 0 {
		if err := r.confirm(ctx, yes, r.what(total)); err != nil {
			return err
		}
		bar := r.progress("requeue", total)
		bar.most = r.options.Rate
		r.options.Progress = func(done inspector.Requeued) { bar.show(seen(done)) }
		r.done, err = i.DeadRequeue(ctx, r.args[0], q, r.options)
		bar.end()
	}
	switch wrong := refused(err); {
	case err == nil:
		return r.report(total, "")
	case wrong != nil:
		return wrong
	}
	goOn := r.filter.rest(r.cmd, r.args, q, r.done.Stored+r.done.Merged+r.done.Lost)
	if r.json {
		if err := r.report(total, goOn); err != nil {
			return err
		}
	}
	far := fmt.Sprintf("%s of %s requeued", words.Grouped(seen(r.done)-r.done.Lost), words.Grouped(total))
	return r.halted(ctx, err, far+unsure(r.done.Lost, "requeued"), goOn)
}

// valid refuses a priority that the topic cannot have.
func (r *requeue) valid(ctx context.Context, i *inspector.Inspector) error {
	if r.options.Priority == 0 {
		return nil
	}
	t, err := i.Topic(ctx, r.args[0])
	if err != nil {
		return err
	}
	if t.Kind.Timed() {
		return misused("--priority is %d, and %s is a %s topic, which has none", r.options.Priority, words.Legible(t.Name), t.Kind)
	}
	return byFlag(checked.Priority(r.options.Priority))
}

// what says what is about to happen.
func (r *requeue) what(n int) string {
	text := fmt.Sprintf("requeue %s of %s", words.Count(n, "dead message"), words.Legible(r.args[0]))
	if rate := r.options.Rate; rate > 0 {
		took := time.Duration(min(max(float64(n)/rate, 1), 1e9)) * time.Second
		text += fmt.Sprintf(", at %v (%s)", r.cmd.Flag("rate").Value, humantime.Duration(took))
	}
	return text
}

// would says what a call without --dry-run would do.
func (r *requeue) would(n int) error {
	if r.json {
		return r.object(wire.WouldRequeue{Topic: r.args[0], Would: n})
	}
	if n == 0 {
		r.nothing()
		return nil
	}
	r.say("would %s", r.what(n))
	return nil
}

func (r *requeue) nothing() {
	r.say("no dead message of %s is meant; nothing to requeue", words.Legible(r.args[0]))
}

// report prints what became of them.
func (r *requeue) report(total int, goOn string) error {
	d := r.done
	if r.json {
		return r.object(wire.Requeued{Topic: r.args[0], Requeued: d, GoOn: goOn})
	}
	if seen(d) == 0 && total == 0 {
		r.nothing()
		return nil
	}
	parts := []string{fmt.Sprintf("requeued %s of %s", words.Count(d.Stored+d.Merged, "dead message"), words.Legible(r.args[0]))}
	if d.Lost > 0 {
		parts = append(parts, words.Grouped(d.Lost)+" more were not dead any more when they were tried again, since an answer was lost: requeued most likely")
	}
	if d.Merged > 0 {
		parts = append(parts, words.Grouped(d.Merged)+" of them merged into live copies")
	}
	if d.Gone > 0 {
		parts = append(parts, words.Grouped(d.Gone)+" were not dead any more, or died again")
	}
	if d.Unknown > 0 {
		parts = append(parts, words.Grouped(d.Unknown)+" stay dead, since their priority is not known: --priority gives them one")
	}
	r.say("%s", strings.Join(parts, "; "))
	return nil
}

// seen is how many a requeue has dealt with.
func seen(r inspector.Requeued) int { return r.Stored + r.Merged + r.Gone + r.Unknown + r.Lost }

func sum(a, b inspector.Requeued) inspector.Requeued {
	return inspector.Requeued{Stored: a.Stored + b.Stored, Merged: a.Merged + b.Merged, Gone: a.Gone + b.Gone, Unknown: a.Unknown + b.Unknown, Lost: a.Lost + b.Lost}
}
