package journals

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/journal/recovery"
)

// standardRate is how many messages a second are brought back unless --rate says otherwise.
const standardRate = 5000

var restore = frame.Command{
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
	Flags: func(flags *frame.Flags) frame.Steps {
		r := &restoring{rate: standardRate}
		flags.DryRun(&r.dry)
		flags.Var(&r.rate, "rate", "so many a second, as in 100/s")
		flags.Var(&r.newer, "newer-than", "only what was sent in this time, as in 2h: for a Redis that is back with an older state")
		flags.BoolVar(&r.options.Expired, "expired", false, "also messages whose time to live is over, which have none then")
		flags.BoolVar(&r.options.LeaveDead, "leave-dead", false, "no dead messages")
		flags.Yes(&r.yes)
		return frame.Steps{r.check, r.open, r.ask, r.run}
	},
}

// restoring is one call of rmq journal restore.
type restoring struct {
	dry, yes bool
	rate     frame.Pace
	newer    frame.Age
	options  recovery.Restore

	*frame.Call
	journal *frame.Journal
	both    *recovery.Recovery
}

// opened is the journal, and what compares it with Redis.
func opened(ctx context.Context, c *frame.Call, to frame.Access, log *slog.Logger) (*frame.Journal, *recovery.Recovery, error) {
	j, err := c.NeedJournal(ctx, to)
	if err != nil {
		return nil, nil, err
	}
	rdb, err := c.Redis(ctx)
	if err != nil {
		return nil, nil, err
	}
	both, err := recovery.New(recovery.Config{Journal: j.Journal, Redis: rdb, Namespace: c.Namespace(), Slog: log})
	return j, both, err
}

// check reads the content of the one message to restore, if one is meant.
func (r *restoring) check(ctx context.Context, c *frame.Call) error {
	r.Call = c
	if len(c.Args) < 2 {
		return nil
	}
	err := frame.OfContent(ctx, c)
	if err == nil && c.Content == "" { // as of a variable that is not set: it must not mean all
		err = frame.Misused("CONTENT is empty: leave it out to restore the whole topic")
	}
	return err
}

func (r *restoring) open(ctx context.Context, c *frame.Call) (err error) {
	to := frame.ToChange
	if r.dry {
		to = frame.ToLook
	}
	r.options.Rate, r.options.Content = float64(r.rate), c.Content
	if len(c.Args) > 0 {
		r.options.Topics = c.Args[:1]
	}
	if r.newer.Span > 0 {
		r.options.Since = time.Now().Add(-time.Duration(r.newer.Span))
	}
	r.journal, r.both, err = opened(ctx, c, to, nil)
	return err
}

// ask asks about what would be restored. The answer comes first, the wait for programs behind it.
func (r *restoring) ask(ctx context.Context, c *frame.Call) error {
	if r.dry || r.yes || len(c.Args) == 2 {
		return nil
	}
	would, err := r.count(ctx, -1)
	if err != nil {
		return r.stopped(ctx, err, recovery.Restored{})
	}
	return c.Confirm(ctx, would.Waiting+would.Dead == 0, "restore "+r.estimate(would))
}

func (r *restoring) run(ctx context.Context, c *frame.Call) error {
	err := r.announceWait(ctx)
	if r.dry {
		return r.look(ctx, err)
	}
	if err != nil {
		return r.stopped(ctx, err, recovery.Restored{})
	}
	options := r.options
	options.Patience = flushPatience
	done, err := r.restore(ctx, "restore", options)
	if err != nil {
		return r.stopped(ctx, err, done)
	}
	return r.report(done, done, "restored "+r.words(done))
}

// look says how much would be restored.
func (r *restoring) look(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	would, err := r.count(ctx, flushPatience)
	if err != nil {
		return frame.ByFlag(err)
	}
	return r.report(would, wire.Restored{Dry: true, Restored: would}, "would restore "+r.estimate(would))
}

// report says what was restored, or would be. There may be nothing of the one message that was named.
func (r *restoring) report(n recovery.Restored, v any, line string) error {
	if len(r.Args) > 1 && met(n) == 0 {
		return frame.Failed("nothing of %s is to be restored; %s journal history says what became of it", r.Brief(r.options.Content), r.Name)
	}
	return r.Answer(v, "%s", line)
}

// flushPatience is how long to wait for living programs to write what they hold: an idle one writes every 5 s.
const flushPatience = 12 * time.Second

// announceWait says that there is a wait, and what for.
func (r *restoring) announceWait(ctx context.Context) error {
	late, err := r.journal.Flushed(ctx, 0)
	if err == nil && late > 0 {
		fmt.Fprintf(r.Errs, "waiting until %s wrote what it holds, %v at the most\n", words.Count(late, "program"), flushPatience)
	}
	return err
}

// count counts what is to be restored, and writes nothing.
func (r *restoring) count(ctx context.Context, patience time.Duration) (recovery.Restored, error) {
	options := r.options
	options.DryRun, options.Rate, options.Patience = true, limitOfRates, patience
	return r.restore(ctx, "count", options)
}

func (r *restoring) restore(ctx context.Context, what string, options recovery.Restore) (recovery.Restored, error) {
	bar := r.Progress(what, 0)
	defer bar.End()
	options.Progress = func(done recovery.Restored) { bar.Show(met(done)) }
	return r.both.Restore(ctx, options)
}

// limitOfRates is the largest that there is. To count is cheap.
const limitOfRates = 1_000_000

// stopped is the end of a restore that did not get to its own.
func (r *restoring) stopped(ctx context.Context, err error, done recovery.Restored) error {
	if ctx.Err() == nil && met(done) == 0 {
		return frame.ByFlag(err)
	}
	return r.Ended(ctx, err, fmt.Sprintf("restored %s; call it again for the rest", r.words(done)))
}

// met is how many messages a restore has looked at.
func met(r recovery.Restored) int {
	return r.Waiting + r.Dead + r.There + r.Expired + r.Unsure + r.Unknown
}

// estimate says what would be restored, and how long that would take.
func (r *restoring) estimate(n recovery.Restored) string {
	text := r.words(n)
	if took := float64(n.Waiting+n.Dead) / float64(r.rate); took > 2 {
		text += fmt.Sprintf("; at %v: %s", &r.rate, humantime.Duration(time.Duration(took)*time.Second))
	}
	return text
}

// words says what is restored, or would be.
func (r *restoring) words(n recovery.Restored) string {
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
