package consumer

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/definition"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// membersChanged is what a worker publishes on a topic's channel when it comes
// or goes.
const membersChanged = "members"

// recheck is how often the topics' definitions are compared again.
const recheck = 30 * time.Second

// agree compares the topic's definition with the stored one.
func (c *Consumer) agree(ctx context.Context, t *topic) error {
	return definition.Agree(ctx, c.scripts, t.name, t.Topic, definition.SharingRedis)
}

// join enters the worker in the lists of members and begins to work at its
// share of the slots.
func (c *Consumer) join(ctx context.Context) error {
	for _, t := range c.topics {
		if err := c.show(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// show enters the worker in a topic's list of members, and works at the slots
// that are its share by that list.
func (c *Consumer) show(ctx context.Context, t *topic) error {
	members, changed, err := c.scripts.Members(ctx, t.name, c.id, c.cfg.Lease, true)
	if err != nil {
		return err
	}
	if changed {
		c.announce(t, []byte(membersChanged))
	}
	share := slots.Share(members, len(t.slots))[c.id]
	gained, lost := c.schedule.own(t, share)
	if gained+lost > 0 {
		c.log.Info("slots were shared out", zap.String("topic", t.Name), zap.Int("workers", len(members)),
			zap.Int("slots", len(share)), zap.Int("gained", gained), zap.Int("given_away", lost))
	}
	return nil
}

// attend keeps the worker in the lists of members, follows their changes, and
// compares the definitions now and then.
func (c *Consumer) attend() {
	refresh := time.NewTicker(min(c.cfg.Lease/3, recheck))
	defer refresh.Stop()
	compared := time.Now()
	refused := map[*topic]bool{}
	for {
		select {
		case <-refresh.C:
		case <-c.poke:
		case <-c.background.Done():
			return
		}
		compare := time.Since(compared) > c.recheck
		if compare {
			compared = time.Now()
		}
		for _, t := range c.topics {
			if compare || refused[t] {
				err := c.agree(c.background, t)
				if conflict := errors.Is(err, message.ErrTopicConflict); conflict && !refused[t] {
					c.log.Error("topic is not worked at", zap.String("topic", t.Name), zap.Error(err))
					c.schedule.own(t, nil)
					refused[t] = true
				} else if err == nil {
					refused[t] = false
				}
			}
			if refused[t] {
				continue
			}
			if err := c.show(c.background, t); err != nil && c.background.Err() == nil {
				c.log.Warn("list of members could not be refreshed", zap.String("topic", t.Name), zap.Error(err))
			}
		}
	}
}

// resign takes the worker out of the lists of members. If it cannot, the
// others notice after its lease.
func (c *Consumer) resign() {
	ctx, cancel := context.WithTimeout(c.requests, grace)
	defer cancel()
	// A refresh under way would put it back after it was taken out.
	c.stopRest()
	attended := make(chan struct{})
	go func() { c.attending.Wait(); close(attended) }()
	select {
	case <-attended:
	case <-ctx.Done():
	}
	for _, t := range c.topics {
		if _, _, err := c.scripts.Members(ctx, t.name, c.id, c.cfg.Lease, false); err != nil {
			c.log.Warn("list of members could not be left", zap.String("topic", t.Name), zap.Error(err))
			continue
		}
		c.announce(t, []byte(membersChanged))
	}
}
