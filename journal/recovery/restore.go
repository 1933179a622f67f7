package recovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/servers/rights"
	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/message"
)

// Restore says what to bring back. Its zero value brings back all that is lost.
type Restore struct {
	// Topics to restore, by their names. Defaults to all that the journal knows.
	Topics []string

	// Content of the one message to restore, in whichever slots it was. Defaults to all.
	Content string

	// Since leaves alone what was sent before, by the clocks of its senders: for a Redis that has
	// come back with an older state, and has forgotten only what came after. Defaults to all.
	Since time.Time

	// Expired also brings back messages whose time to live is over. They have no end
	// any more. Defaults to false: they are counted, and left.
	Expired bool

	// LeaveDead leaves dead messages alone. Defaults to false: they are dead again.
	LeaveDead bool

	// DryRun counts, and writes nothing. Defaults to false.
	DryRun bool

	// Rate is how many messages a second are looked up in Redis, and brought back. Defaults to
	// 5,000; from 0.001 to 1,000,000.
	Rate float64

	// Patience is how long to wait at first for living programs, to write into the journal what
	// they hold in memory. Defaults to 12 s, more than twice the 5 s after which an idle one says
	// that it lives; negative: not at all.
	Patience time.Duration

	// Progress is called after each page with what became of all so far. Defaults to nil: no calls.
	Progress func(Restored)
}

const (
	standardRate     = 5000
	standardPatience = 12 * time.Second
)

// full is the restore with its defaults, or what is wrong with it.
func (o Restore) full() (Restore, error) {
	if o.Rate == 0 {
		o.Rate = standardRate
	}
	if !limits.Rate(o.Rate) {
		return o, &message.InvalidError{Field: "Restore.Rate", Value: strconv.FormatFloat(o.Rate, 'g', -1, 64), Limit: "from 0.001 to 1000000 a second"}
	}
	if o.Patience == 0 {
		o.Patience = standardPatience
	}
	return o, nil
}

// Restore brings back what the journal knows to be owed, or dead, and what is not in Redis. It
// writes the definitions of topics first; a topic that is another one in Redis is refused with
// message.ErrTopicConflict, before anything of it is restored.
//
// It goes slot by slot, in pages of at most 500 messages. When ctx ends it stops between two pages; the error
// wraps that of ctx. What was restored stays so, and another call goes on with the rest.
//
// A message that was handled, and whose end is not in the journal when its page is read, comes once more:
// see [Restored].Twice. What is sent while Restore runs it leaves alone.
func (r *Recovery) Restore(ctx context.Context, o Restore) (Restored, error) {
	x := &restoring{Recovery: r}
	var err error
	if x.o, err = o.full(); err == nil {
		x.pace.Rate = x.o.Rate
		err = x.run(ctx)
	}
	if err != nil {
		return x.done, fmt.Errorf("restore: %w", r.explain(err))
	}
	return x.done, nil
}

// explain adds what to do to an error of Redis.
func (r *Recovery) explain(err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "READONLY "):
		return fmt.Errorf("this Redis is a replica; connect to its master, or by the Sentinels: %w", err)
	case strings.Contains(text, "OOM command"):
		return fmt.Errorf("Redis is full; raise its maxmemory, and restore again: %w", err)
	}
	return rights.Explain(err, rights.User(r.rdb))
}

// restoring is one restore under way.
type restoring struct {
	*Recovery
	o    Restore
	done Restored
	at   time.Time // when it began, by the clock of Redis, and by this machine's
	here time.Time
	last int64 // ID of the last row that may be about something lost
	pace wait.Pace

	marks marks
}

// now is the time of Redis.
func (x *restoring) now() time.Time { return x.at.Add(time.Since(x.here)) }

func (x *restoring) run(ctx context.Context) error {
	topics, err := x.topics(ctx, x.o.Topics)
	if err != nil {
		return err
	}
	if err := x.allowed(ctx, topics); err != nil {
		return err
	}
	if x.at, err = x.rdb.Time(ctx).Result(); err != nil {
		return fmt.Errorf("ask Redis for its time: %w", err)
	}
	x.here = time.Now()
	if x.o.Patience > 0 {
		if x.done.Late, err = x.journal.Flushed(ctx, x.o.Patience); err != nil {
			return err
		}
	}
	if x.last, err = x.journal.Newest(ctx); err != nil {
		return err
	}
	for _, t := range topics {
		if err = x.topic(ctx, t); err != nil {
			err = fmt.Errorf("topic %s: %w", t.Name, err)
			break
		}
	}
	return errors.Join(err, x.marks.wait())
}

// topic restores one topic, or one content of it.
func (x *restoring) topic(ctx context.Context, t ledger.Topic) error {
	lost, err := x.define(ctx, t, x.o.DryRun)
	if err != nil {
		return err
	}
	if now := x.now(); lost.IsZero() || lost.After(now) {
		lost = now
	}
	if x.o.Content != "" {
		found, err := x.journal.History(ctx, t.Name, x.o.Content)
		for i := 0; i < len(found) && err == nil; i++ {
			p := x.page(t, found[i].Slot, number(found[i]), lost)
			if err = p.add(ctx, found[i]); err == nil {
				err = p.put(ctx)
			}
		}
		return err
	}
	numbers, err := x.journal.Numbers(ctx, t)
	if err != nil {
		return err
	}
	for _, slot := range slices.Sorted(maps.Keys(numbers)) {
		p := x.page(t, slot, numbers[slot], lost)
		err := x.journal.Walk(ctx, t, slot, func(some []ledger.History) error {
			for _, h := range some {
				if err := p.add(ctx, h); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			err = p.put(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// number is the largest that a content was sent or ended with.
func number(h ledger.History) (largest int64) {
	for _, s := range h.Sent {
		if s.Number < record.UnknownNumber {
			largest = max(largest, s.Number)
		}
	}
	for _, e := range h.Ended {
		if e.What != ledger.Gone && e.Number < record.UnknownNumber {
			largest = max(largest, e.Number)
		}
	}
	return largest
}
