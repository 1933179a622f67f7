package consumer

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// crash is how long messages of a worker that is gone wait for their retry here, as
// the topic's Backoff says. Every turn names it, and hardly any needs it. So Backoff,
// which is the user's and may take its time, is asked when another worker's batch is about
// to be taken over, and never by a turner.
type crash struct {
	mu     sync.Mutex
	asking chan struct{} // closed with the answer; nil: nobody asks
	asked  time.Time     // last
	last   time.Duration
}

const (
	// unknownCrash is the delay while Backoff was not asked or has not answered: a
	// batch that nobody has seen before is taken over by the turn that meets it.
	unknownCrash = time.Second

	// silentHolder is how little of its lease a holder has left that does not keep it: one
	// that lives renews it before. A slot that is busy looks again sooner than that.
	silentHolder = lastBusy + 100*time.Millisecond

	// crashHolds is how long an answer is good, and how long it is waited for.
	crashHolds = time.Second
)

// delay is what the next turn names.
func (x *crash) delay() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.last == 0 {
		return unknownCrash
	}
	return x.last
}

// pending reports whether Backoff has not returned.
func (x *crash) pending() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.asking != nil
}

// reckon asks the topic's Backoff, unless it was asked a moment ago. What it returns is
// closed when the answer is there.
func (c *Consumer) reckon(t *topic) <-chan struct{} {
	x := &t.crash
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.asking != nil {
		return x.asking
	}
	answered := make(chan struct{})
	if t.Literal || x.last > 0 && time.Since(x.asked) < crashHolds {
		close(answered)
		return answered
	}
	x.asking = answered
	c.watching.Go(func() {
		d := c.backoff(t, 1)
		x.mu.Lock()
		defer x.mu.Unlock()
		x.last, x.asked, x.asking = d, time.Now(), nil
		close(answered)
	})
	return answered
}

// reckoned is reckon, and waits for the answer, though not for long, if a batch in one of
// the worker's slots is about to be taken over. One of a worker that lives, and hands its
// slots over when it is through, is no failure.
func (c *Consumer) reckoned(t *topic) {
	if c.abandoned(t) {
		c.await([]*topic{t})
	}
}

// await asks the Backoff of each topic, and waits for the answers, though not for long.
func (c *Consumer) await(topics []*topic) {
	timer := time.NewTimer(crashHolds)
	defer timer.Stop()
	var asked []<-chan struct{}
	for _, t := range topics {
		asked = append(asked, c.reckon(t))
	}
	for _, answered := range asked {
		select {
		case <-answered:
		case <-timer.C:
			return
		case <-c.background.Done():
			return
		}
	}
}

// abandoned reports whether the lease of a batch is over in a slot that is this worker's,
// or its holder is proven dead.
func (c *Consumer) abandoned(t *topic) bool {
	ctx, cancel := context.WithTimeout(c.background, crashHolds)
	defer cancel()
	slots, member := c.schedule.Assigned(t.scheduled), c.term.Load().member
	pipe := c.rdb.Pipeline()
	now, asked := pipe.Time(ctx), make([]*redis.SliceCmd, len(slots))
	for i, x := range slots {
		asked[i] = pipe.HMGet(ctx, asSlot(x).turn.Keys.Meta, "holder", "until", "lease")
	}
	_, _ = pipe.Exec(ctx) // each tells its own error
	return slices.ContainsFunc(asked, func(cmd *redis.SliceCmd) bool {
		var held struct {
			Holder string `redis:"holder"`
			Until  int64  `redis:"until"`
			Lease  int64  `redis:"lease"`
		}
		if cmd.Scan(&held) != nil || held.Holder == "" {
			return false
		}
		if member != nil {
			return member.Dead(held.Holder)
		}
		return now.Err() == nil && held.Until < now.Val().UnixMilli()
	})
}
