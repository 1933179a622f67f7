package consumer

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/sharing/fleet"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
)

// takeovers asks the topics' Backoff before batches of workers that died are taken over.
type takeovers struct {
	life     *lifetime.Lifetime
	rdb      redis.UniversalClient
	schedule *schedule.Schedule
	fleet    *fleet.Fleet
	log      *zap.Logger
}

// ask asks the topic's Backoff, unless it was asked a moment ago. What it returns is
// closed when the answer is there.
func (c *takeovers) ask(t *topic) <-chan struct{} {
	if t.Literal { // which knows no delay
		none := make(chan struct{})
		close(none)
		return none
	}
	return t.takeover.ask(c.life.Go, func() time.Duration {
		return verdict.Backoff(t.opts.Backoff).Ask(1, func(p any) {
			c.log.Error(verdict.BackoffPanicked, zap.String("topic", t.Name), zap.Any("panic", p))
		})
	})
}

// askIfDue asks, and waits for the answer, though not for long, if a batch in one of
// the worker's slots is about to be taken over. One of a worker that lives, and hands its
// slots over when it is through, is no failure.
func (c *takeovers) askIfDue(t *topic) {
	if c.due(t) {
		c.await([]*topic{t})
	}
}

// await asks the Backoff of each topic, and waits for the answers, though not for long.
func (c *takeovers) await(topics []*topic) {
	timer := time.NewTimer(delayHolds)
	defer timer.Stop()
	var asked []<-chan struct{}
	for _, t := range topics {
		asked = append(asked, c.ask(t))
	}
	for _, answered := range asked {
		select {
		case <-answered:
		case <-timer.C:
			return
		case <-c.life.Background.Done():
			return
		}
	}
}

// due reports whether the lease of a batch is over in a slot that is this worker's,
// or its holder is proven dead.
func (c *takeovers) due(t *topic) bool {
	ctx, cancel := context.WithTimeout(c.life.Background, delayHolds)
	defer cancel()
	slots, term := c.schedule.Assigned(t.scheduled), c.fleet.Present()
	pipe := c.rdb.Pipeline()
	now, asked := pipe.Time(ctx), make([]*redis.SliceCmd, len(slots))
	for i, x := range slots {
		asked[i] = pipe.HMGet(ctx, asSlot(x).Turn.Keys.Meta, "holder", "until", "lease")
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
