package commands

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/internal/columns"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
	"github.com/slotmq/go-rmq/journal/recovery"
)

// standardRate is how many messages a second are brought back unless --rate says otherwise.
const standardRate = 5000

func (a *app) journalRestoreCommand() *cobra.Command {
	r := &restore{app: a, rate: standardRate}
	cmd := &cobra.Command{
		Use:   "restore [TOPIC [CONTENT]]",
		Short: "Bring back what Redis has lost",
		Long: `Bring back what the journal owes and Redis does not have: all, or one topic, or
one message. Messages wait again as they were sent, dead ones are dead again.

What is in Redis stays as it is: nothing that waits, is in flight, or waits for
its retry is touched. So it may be interrupted, called again, and called while
programs send and work.

Messages that were handled, and whose end had not reached the journal, come
once more: it says how many that may be. First it waits some seconds for
programs that still hold rows in memory.`,
		Example: `  rmq journal restore --dry-run
  rmq journal restore --yes
  rmq journal restore orders --rate 500/s
  rmq journal restore orders "order 4711"
  rmq journal restore --newer-than 2h`,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.args = args
			return r.run(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&r.dry, "dry-run", false, "only say how many it would be")
	flags.Var(&r.rate, "rate", "so many a second, as in 100/s")
	flags.Var(&r.newer, "newer-than", "only what was sent in this time, as in 2h: for a Redis that is back with an older state")
	flags.BoolVar(&r.options.Expired, "expired", false, "also messages whose time to live is over, which have none then")
	flags.BoolVar(&r.options.LeaveDead, "leave-dead", false, "no dead messages")
	asks(cmd, &r.yes)
	return cmd
}

// restore is one call of rmq journal restore.
type restore struct {
	*app
	args     []string
	dry, yes bool
	rate     pace
	newer    age
	options  recovery.Restore
}

func (r *restore) run(ctx context.Context) error {
	content, err := r.one()
	if err != nil {
		return err
	}
	to := toChange
	if r.dry {
		to = toLook
	}
	j, err := r.needJournal(ctx, to)
	if err != nil {
		return err
	}
	if _, err := r.inspector(ctx); err != nil { // which connects
		return err
	}
	recover, err := recovery.New(recovery.Config{Journal: j.Journal, Redis: r.rdb, Namespace: r.space()})
	if err != nil {
		return err
	}
	r.options.Rate = float64(r.rate)
	if len(r.args) > 0 {
		r.options.Topics = r.args[:1]
	}
	r.options.Content = content
	if r.newer.span > 0 {
		r.options.Since = time.Now().Add(-time.Duration(r.newer.span))
	}
	if r.dry {
		return r.look(ctx, j, recover)
	}
	if !r.yes && len(r.args) < 2 {
		would, err := r.count(ctx, recover, -1) // the answer comes first, the wait behind it
		if err != nil {
			return r.stopped(ctx, err, recovery.Restored{})
		}
		if would.Waiting+would.Dead > 0 {
			if err := r.confirm(ctx, false, "restore "+r.estimate(would)); err != nil {
				return err
			}
		}
	}
	if err := r.announceWait(ctx, j); err != nil {
		return r.stopped(ctx, err, recovery.Restored{})
	}
	bar := r.progress("restore", 0)
	options := r.options
	options.Patience = flushPatience
	options.Progress = func(done recovery.Restored) { bar.show(met(done)) }
	done, err := recover.Restore(ctx, options)
	bar.end()
	switch {
	case err != nil:
		return r.stopped(ctx, err, done)
	case r.nothing(done):
		return r.notOwed()
	case r.json:
		return r.object(done)
	}
	r.say("restored %s", r.words(done))
	return nil
}

// one is the content of the one message to restore; empty without any.
func (r *restore) one() (string, error) {
	if len(r.args) < 2 {
		return "", nil
	}
	content, err := r.content(r.args[1])
	if err == nil && content == "" { // as of a variable that is not set: it must not mean all
		err = misused("CONTENT is empty: leave it out to restore the whole topic")
	}
	return content, err
}

// look says how much would be restored.
func (r *restore) look(ctx context.Context, j *opened, recover *recovery.Recovery) error {
	if err := r.announceWait(ctx, j); err != nil {
		return err
	}
	would, err := r.count(ctx, recover, flushPatience)
	switch {
	case err != nil:
		return byFlag(err)
	case r.nothing(would):
		return r.notOwed()
	case r.json:
		return r.object(wire.Restored{Dry: true, Restored: would})
	}
	r.say("would restore %s", r.estimate(would))
	return nil
}

// flushPatience is how long to wait for living programs to write what they hold: an idle one writes every 5 s.
const flushPatience = 12 * time.Second

// announceWait says that there is a wait, and what for.
func (r *restore) announceWait(ctx context.Context, j *opened) error {
	late, err := j.Flushed(ctx, 0)
	if err == nil && late > 0 {
		fmt.Fprintf(r.errs, "waiting until %s wrote what it holds, %v at the most\n", words.Count(late, "program"), flushPatience)
	}
	return err
}

// nothing reports whether there is nothing of the one message that was named.
func (r *restore) nothing(n recovery.Restored) bool { return len(r.args) > 1 && met(n) == 0 }

func (r *restore) notOwed() error {
	return failed("nothing of %s is to be restored; %s journal history says what became of it", columns.Shorten(r.text(r.options.Content), 60), r.Name)
}

// count counts what is to be restored, and writes nothing.
func (r *restore) count(ctx context.Context, recover *recovery.Recovery, patience time.Duration) (recovery.Restored, error) {
	bar := r.progress("count", 0)
	defer bar.end()
	options := r.options
	options.DryRun, options.Rate, options.Patience = true, limitOfRates, patience
	options.Progress = func(done recovery.Restored) { bar.show(met(done)) }
	return recover.Restore(ctx, options)
}

// limitOfRates is the largest that there is. To count is cheap.
const limitOfRates = 1_000_000

// stopped is the end of a restore that did not get to its own.
func (r *restore) stopped(ctx context.Context, err error, done recovery.Restored) error {
	if ctx.Err() == nil && met(done) == 0 {
		return byFlag(err)
	}
	return r.ended(ctx, err, fmt.Sprintf("restored %s; call it again for the rest", r.words(done)))
}

// met is how many messages a restore has looked at.
func met(r recovery.Restored) int {
	return r.Waiting + r.Dead + r.There + r.Expired + r.Unsure + r.Unknown
}

// estimate says what would be restored, and how long that would take.
func (r *restore) estimate(n recovery.Restored) string {
	text := r.words(n)
	if took := float64(n.Waiting+n.Dead) / float64(r.rate); took > 2 {
		text += fmt.Sprintf("; at %v: %s", &r.rate, humantime.Duration(time.Duration(took)*time.Second))
	}
	return text
}

// words says what is restored, or would be.
func (r *restore) words(n recovery.Restored) string {
	parts := []string{words.Count(n.Waiting, "waiting message") + " and " + words.Grouped(n.Dead) + " dead"}
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, words.Grouped(n)+" "+what)
		}
	}
	add(n.Twice, "of them perhaps handled before")
	add(n.There, "there already")
	add(n.Expired, "expired and left")
	add(n.Unsure, "may be back: an answer is lost")
	add(n.Unknown, "dead without a known content, lost for good")
	if n.Late > 0 {
		parts = append(parts, words.Count(n.Late, "program")+" did not write in time what it holds: call it again later")
	}
	return strings.Join(parts, "; ")
}
