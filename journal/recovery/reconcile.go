package recovery

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/servers/rights"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// Reconcile says how to compare the journal with Redis. Its zero value compares all.
type Reconcile struct {
	// Topics to compare, by their names. Defaults to all that the journal knows, of all namespaces.
	Topics []string

	// Rate is how many contents a second are looked at: of a million, a comparison takes 8 minutes.
	// Defaults to 2,000; at most 20,000, as while Redis may have forgotten something.
	Rate int

	// Accept gives up what Redis has forgotten, as [Recovery.Run] noticed it: what is missing counts as
	// gone. It is for all topics. Defaults to false: it stays owed until it is restored.
	Accept bool

	// Every is how long [Recovery.Run] rests behind a comparison, and how long Redis must be found
	// whole until it is trusted again. Defaults to 1 min.
	Every time.Duration

	// Progress is called after each page with what was found so far. Defaults to nil: no calls.
	Progress func(Reconciled)
}

const (
	standardPace  = 2000
	standardEvery = time.Minute
)

// full is the reconcile with its defaults, or what is wrong with it.
func (o Reconcile) full() (Reconcile, error) {
	if o.Rate == 0 {
		o.Rate = standardPace
	}
	if o.Every == 0 {
		o.Every = standardEvery
	}
	switch {
	case o.Rate < 1 || o.Rate > limits.ReconcileRate:
		return o, checked.Invalid("Reconcile.Rate", strconv.Itoa(o.Rate), fmt.Sprintf("from 1 to %d a second", limits.ReconcileRate))
	case o.Every < time.Millisecond:
		return o, checked.Invalid("Reconcile.Every", o.Every.String(), "at least 1ms")
	case o.Accept && o.Topics != nil:
		return o, checked.Invalid("Reconcile.Accept", "true", "for all topics, not some")
	}
	return o, nil
}

// Reconciled counts what a comparison has found.
type Reconciled struct {
	Looked  int // contents, in the journal and in Redis
	Gone    int // were owed, and are nowhere in Redis: handled, and the report is lost
	Dead    int // are dead in Redis, and were not in the journal
	Adopted int // wait in Redis, and were not owed
	Missing int // are owed, and Redis may have forgotten them: nothing was changed

	// Forgot says since when Redis may have forgotten something; zero if it is whole.
	Forgot ledger.Forgot
}

// String says it in one line.
func (r Reconciled) String() string {
	text := fmt.Sprintf("%d looked at: %d gone, %d dead, %d adopted", r.Looked, r.Gone, r.Dead, r.Adopted)
	if r.Missing > 0 {
		text += fmt.Sprintf(", %d missing", r.Missing)
	}
	return text
}

// Reconcile compares the journal with Redis, in both directions, and writes into the journal what it did not
// know. In Redis it changes no message: it writes its own marks, and where batches are forgotten, the numbers of slots.
//
// What is owed, overdue and nowhere in Redis was handled, and nobody has told: it is gone. What waits in
// Redis, or is dead there, and is not so in the journal, is adopted. What is found so is looked at once more, in
// the journal first, when all living programs have written what they knew.
//
// Unless Redis may have forgotten it: while it is in doubt, what is nowhere is missing, and stays owed. It is in
// doubt the first time, and when it was emptied, restarted or replaced since the last look; and until two comparisons
// at least Every apart miss nothing.
func (r *Recovery) Reconcile(ctx context.Context, o Reconcile) (Reconciled, error) {
	o, err := o.full()
	var done Reconciled
	if err == nil {
		done, err = r.compare(ctx, o, true)
	}
	return done, r.reconcileError(err)
}

func (r *Recovery) reconcileError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("reconcile: %w", rights.Explain(err, rights.User(r.rdb)))
}

// comparison is one under way.
type comparison struct {
	*Recovery
	o       Reconcile
	done    Reconciled
	began   time.Time
	now     int64 // the same in ms
	pace    wait.Pace
	suspect suspects
	missing map[place]int
	numbers map[place]int64 // the largest of a batch of which the journal knows
}

// compare compares the journal with Redis, and with both also Redis with the journal.
func (r *Recovery) compare(ctx context.Context, o Reconcile, both bool) (Reconciled, error) {
	c := &comparison{Recovery: r, o: o, began: time.Now(), missing: map[place]int{}, numbers: map[place]int64{}}
	c.now = c.began.UnixMilli()
	topics, err := r.journal.Topics(ctx)
	if o.Topics != nil {
		topics, err = r.topics(ctx, o.Topics)
	}
	if err != nil {
		return c.done, err
	}
	newest, err := r.journal.Newest(ctx)
	if err != nil {
		return c.done, err
	}
	m, err := r.round(ctx)
	if err != nil {
		return c.done, err
	}
	c.done.Forgot, c.pace.Rate = m.Forgot, float64(o.Rate)
	if !m.Forgot.Noticed.IsZero() {
		c.pace.Rate = limits.ReconcileRate // somebody waits for it
	}
	for _, t := range topics {
		if !m.Forgot.Noticed.IsZero() {
			if err := r.raise(ctx, t); err != nil {
				return c.done, fmt.Errorf("topic %s: %w", t.Name, err)
			}
		}
		if err := c.owed(ctx, t); err != nil {
			return c.done, fmt.Errorf("topic %s: %w", t.Name, err)
		}
		if !both {
			continue
		}
		if err := c.waiting(ctx, t); err != nil {
			return c.done, fmt.Errorf("topic %s: %w", t.Name, err)
		}
	}
	if err := c.settle(ctx); err != nil {
		return c.done, err
	}
	if c.done.Forgot != m.Forgot { // noticed only now: what was passed may be missing, too
		return r.compare(ctx, o, both)
	}
	if o.Topics != nil {
		return c.done, nil // of the rest nothing is known
	}
	return c.done, c.conclude(ctx, both, newest, m.Forgot)
}

// conclude keeps what all topics came to. The doubt with which it began is over, if nothing is missing.
func (c *comparison) conclude(ctx context.Context, both bool, newest int64, doubt ledger.Forgot) error {
	var all []ledger.Missing
	for at, n := range c.missing {
		all = append(all, ledger.Missing{Topic: at.topic, Slot: at.slot, Messages: n})
	}
	if err := c.journal.Miss(ctx, all); err != nil {
		return err
	}
	m, err := c.journal.Remember(ctx, func(m *ledger.Memory) {
		if both {
			m.Adopted, m.AdoptedID = c.began, newest
		}
		over := c.o.Accept || c.began.Sub(doubt.Noticed) >= c.o.Every
		if len(all) == 0 && over && m.Forgot == doubt {
			m.Forgot = ledger.Forgot{}
		}
	})
	if err == nil {
		c.done.Forgot = m.Forgot
	}
	return err
}
