package journals

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/journal/recovery"
)

var reconcile = frame.Command{
	Use:   "reconcile [TOPIC...]",
	Short: "Compare the journal with Redis, and write what it does not know",
	Long: `Compare the journal with Redis, in both directions, and write into the journal
what it does not know. Messages in Redis are not touched.

  gone     was owed, and is nowhere in Redis: it was handled, and nobody told
  dead     is dead in Redis, and was not in the journal
  adopted  waits in Redis, and was not owed: the report of its send is lost
  missing  is owed, and Redis may have forgotten it: it was emptied, or is back
           with an older state. It stays owed: journal restore brings it back

With --every it goes on and on, and looks each second for what Redis forgets. Of
all that do so with one journal one works: run it beside each of your servers.`,
	Example: `  rmq journal reconcile
  rmq journal reconcile orders --rate 10000/s
  rmq journal reconcile --accept --yes
  rmq journal reconcile --every`,
	Flags: func(flags *frame.Flags) frame.Steps {
		r := &reconciling{every: frame.Span(time.Minute)}
		flags.Var(&r.rate, "rate", "look at so many contents a second, 2000/s if it is not given, 20000/s at most")
		flags.BoolVar(&r.accept, "accept", false, "give up what Redis has forgotten: it counts as handled")
		flags.Var(&r.every, "every", "again and again, 1m or as --every=10m says from one end to the next beginning, until Ctrl-C")
		flags.Lookup("every").NoOptDefVal = "1m"
		flags.Yes(&r.yes)
		return frame.Steps{r.check, r.run}
	},
}

// reconciling is one call of rmq journal reconcile.
type reconciling struct {
	rate        frame.Pace
	every       frame.Span
	accept, yes bool
}

func (r *reconciling) check(_ context.Context, c *frame.Call) error {
	again, every := c.Changed("every"), time.Duration(r.every)
	switch {
	case again && len(c.Args) > 0 && frame.IsSpan(c.Args[0]):
		return frame.Misused("what belongs to --every stands behind =, as in --every=%s", c.Args[0])
	case again && (r.accept || len(c.Args) > 0):
		return frame.Misused("--every compares all topics, and accepts nothing: leave out either it, or the rest")
	case again && every < time.Millisecond:
		return frame.Misused("--every is %v; it must be 1ms or more", every)
	case r.rate != 0 && r.rate < 1 || r.rate > limits.ReconcileRate:
		return frame.Misused("--rate is %v; it must be from 1/s to %d/s", &r.rate, limits.ReconcileRate)
	}
	return nil
}

func (r *reconciling) run(ctx context.Context, c *frame.Call) error {
	j, both, err := opened(ctx, c, frame.ToChange, slog.New(slog.NewTextHandler(c.Errs, nil)))
	if err != nil {
		return err
	}
	options := recovery.Reconcile{Rate: int(r.rate), Accept: r.accept, Every: time.Duration(r.every)}
	if len(c.Args) > 0 {
		options.Topics = c.Args
	}
	if c.Changed("every") {
		fmt.Fprintf(c.Errs, "comparing %s with Redis every %s, until Ctrl-C\n", words.Legible(j.URL), humantime.Duration(options.Every))
		return both.Run(ctx, options)
	}
	if r.accept {
		if err := c.Confirm(ctx, r.yes, "count as handled what is owed in "+j.URL+", and Redis has forgotten"); err != nil {
			return err
		}
	}
	bar := c.Progress("compare", 0)
	options.Progress = func(done recovery.Reconciled) { bar.Show(done.Looked) }
	done, err := both.Reconcile(ctx, options)
	bar.End()
	switch {
	case err != nil && done.Looked > 0:
		return c.Ended(ctx, err, "until then "+reconciledWords(done))
	case err != nil:
		return frame.ByFlag(err)
	}
	return c.Answer(reconciledJSON{done.Looked, done.Gone, done.Dead, done.Adopted, done.Missing, wire.At(done.Forgot.Noticed), wire.At(done.Forgot.Since)},
		"%s", reconciledWords(done))
}

func reconciledWords(n recovery.Reconciled) string {
	text := fmt.Sprintf("looked at %s: %s gone, %s dead, %s adopted", words.Count(n.Looked, "content"), words.Grouped(n.Gone), words.Grouped(n.Dead), words.Grouped(n.Adopted))
	switch {
	case n.Missing > 0:
		text += fmt.Sprintf("; %s missing: Redis forgot them, and journal restore brings them back", words.Grouped(n.Missing))
	case !n.Forgot.Noticed.IsZero():
		text += "; nothing is missing, though Redis may have forgotten something: look once more in a minute"
	}
	return text
}

type reconciledJSON struct {
	Looked  int        `json:"looked"`
	Gone    int        `json:"gone"`
	Dead    int        `json:"dead"`
	Adopted int        `json:"adopted"`
	Missing int        `json:"missing"`
	Noticed wire.Stamp `json:"forgot_noticed,omitzero"`
	Since   wire.Stamp `json:"forgot_since,omitzero"`
}
