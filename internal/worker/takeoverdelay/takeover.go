package takeoverdelay

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
)

// Config of [Delays].
type Config struct {
	Life     *lifetime.Lifetime
	Redis    redis.UniversalClient
	Schedule *schedule.Schedule
	Log      *zap.Logger
	Present  func() Term // in which the worker works
}

// Term is that in which a worker works.
type Term interface {
	Lease() time.Duration    // of a batch; 0: it has none
	Dead(holder string) bool // is proven
}

// Topic is one whose batches may be taken over.
type Topic struct {
	Name      string
	Scheduled *schedule.Topic
	Literal   bool // it knows no delay
	Backoff   verdict.Backoff
	delay
}

// Delays asks the topics' Backoff before batches of workers that died are taken over.
type Delays struct{ Config }

// Ask asks the topic's Backoff, unless it was asked a moment ago. What it returns is
// closed when the answer is there.
func (c *Delays) Ask(t *Topic) <-chan struct{} {
	if t.Literal { // which knows no delay
		none := make(chan struct{})
		close(none)
		return none
	}
	return t.ask(c.Life.Go, func() time.Duration {
		return t.Backoff.Ask(1, func(p any) {
			c.Log.Error(verdict.BackoffPanicked, zap.String("topic", t.Name), zap.Any("panic", p))
		})
	})
}

// AskIfDue asks, and waits for the answer, though not for long, if a batch in one of
// the worker's slots is about to be taken over. One of a worker that lives, and hands its
// slots over when it is through, is no failure.
func (c *Delays) AskIfDue(t *Topic) {
	if c.due(t) {
		c.Await([]*Topic{t})
	}
}

// Await asks the Backoff of each topic, and waits for the answers, though not for long.
func (c *Delays) Await(topics []*Topic) {
	timer := time.NewTimer(delayHolds)
	defer timer.Stop()
	var asked []<-chan struct{}
	for _, t := range topics {
		asked = append(asked, c.Ask(t))
	}
	for _, answered := range asked {
		select {
		case <-answered:
		case <-timer.C:
			return
		case <-c.Life.Background.Done():
			return
		}
	}
}

// keyed is a worker's side of a slot.
type keyed interface{ Keys() *protocol.SlotKeys }

// due reports whether the lease of a batch is over in a slot that is this worker's,
// or its holder is proven dead.
func (c *Delays) due(t *Topic) bool {
	ctx, cancel := context.WithTimeout(c.Life.Background, delayHolds)
	defer cancel()
	slots, term := c.Schedule.Assigned(t.Scheduled), c.Present()
	pipe := c.Redis.Pipeline()
	now, asked := pipe.Time(ctx), make([]*redis.SliceCmd, len(slots))
	for i, x := range slots {
		asked[i] = pipe.HMGet(ctx, x.Value.(keyed).Keys().Meta, "holder", "until", "lease")
	}
	_, _ = pipe.Exec(ctx) // each has an error of its own
	return slices.ContainsFunc(asked, func(cmd *redis.SliceCmd) bool {
		var held struct {
			Holder string `redis:"holder"`
			Until  int64  `redis:"until"`
			Lease  int64  `redis:"lease"`
		}
		if cmd.Scan(&held) != nil || held.Holder == "" {
			return false
		}
		leaseOver := term.Lease() > 0 && now.Err() == nil && held.Until < now.Val().UnixMilli()
		return leaseOver || term.Dead(held.Holder)
	})
}
