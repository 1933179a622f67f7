package commands

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
	"github.com/slotmq/go-rmq/journal/recovery"
	"github.com/slotmq/go-rmq/message"
)

func (a *app) journalReconcileCommand() *cobra.Command {
	r := &reconcile{app: a, every: span(time.Minute)}
	cmd := &cobra.Command{
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
		RunE: func(cmd *cobra.Command, args []string) error {
			r.topics, r.again = args, cmd.Flags().Changed("every")
			return r.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.Var(&r.rate, "rate", "look at so many contents a second, 2000/s if it is not given, 20000/s at most")
	flags.BoolVar(&r.accept, "accept", false, "give up what Redis has forgotten: it counts as handled")
	flags.Var(&r.every, "every", "again and again, 1m or as --every=10m says from one end to the next beginning, until Ctrl-C")
	flags.Lookup("every").NoOptDefVal = "1m"
	asks(cmd, &r.yes)
	return cmd
}

// reconcile is one call of rmq journal reconcile.
type reconcile struct {
	*app
	topics []string
	rate   pace
	every  span
	again  bool
	accept bool
	yes    bool
}

func (r *reconcile) run(ctx context.Context) error {
	switch {
	case r.again && len(r.topics) > 0 && isSpan(r.topics[0]):
		return misused("what belongs to --every stands behind =, as in --every=%s", r.topics[0])
	case r.again && (r.accept || len(r.topics) > 0):
		return misused("--every compares all topics, and accepts nothing: leave out either it, or the rest")
	case r.again && time.Duration(r.every) < time.Millisecond:
		return misused("--every is %v; it must be 1ms or more", time.Duration(r.every))
	case r.rate != 0 && r.rate < 1 || r.rate > recovery.MostPace:
		return misused("--rate is %v; it must be from 1/s to %d/s", &r.rate, recovery.MostPace)
	}
	j, err := r.needJournal(ctx, toChange)
	if err != nil {
		return err
	}
	if _, err := r.inspector(ctx); err != nil { // which connects
		return err
	}
	log := slog.New(slog.NewTextHandler(r.errs, nil))
	both, err := recovery.New(recovery.Config{Journal: j.Journal, Redis: r.rdb, Namespace: r.space(), Slog: log})
	if err != nil {
		return err
	}
	options := recovery.Reconcile{Rate: int(r.rate), Accept: r.accept, Every: time.Duration(r.every)}
	if len(r.topics) > 0 {
		options.Topics = r.topics
	}
	if r.again {
		fmt.Fprintf(r.errs, "comparing %s with Redis every %s, until Ctrl-C\n", words.Legible(j.url), humantime.Duration(time.Duration(r.every)))
		return both.Run(ctx, options)
	}
	if r.accept {
		if err := r.confirm(ctx, r.yes, "count as handled what is owed in "+j.url+", and Redis has forgotten"); err != nil {
			return err
		}
	}
	bar := r.progress("compare", 0)
	options.Progress = func(done recovery.Reconciled) { bar.show(done.Looked) }
	done, err := both.Reconcile(ctx, options)
	bar.end()
	switch {
	case err != nil && done.Looked > 0:
		return r.ended(ctx, err, "until then "+reconciledWords(done))
	case err != nil:
		return byFlag(err)
	case r.json:
		return r.object(reconciledJSON{done.Looked, done.Gone, done.Dead, done.Adopted, done.Missing, wire.At(done.Forgot.Noticed), wire.At(done.Forgot.Since)})
	}
	r.say("%s", reconciledWords(done))
	return nil
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

// forgottenLine says what Redis has forgotten of one topic.
func (a *app) forgottenLine(f message.Forgotten) string {
	noun := "slots"
	if len(f.Slots) == 1 {
		noun = "slot"
	}
	text := fmt.Sprintf("%s of %s, in %s %s", words.Count(f.Messages, "message"), words.Legible(a.bare(f.Topic)), noun, wire.Ranges(f.Slots))
	if !f.Since.IsZero() {
		text += ", of what came after " + moment(f.Since)
	}
	return text + ", when it was last compared"
}
