package consumer

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/definition"
	"github.com/slotmq/go-rmq/internal/nodes"
	"github.com/slotmq/go-rmq/internal/rights"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// The list of members in Redis, by which the slots are shared out where there is
// no ZooKeeper. Beside it, the definitions, which are compared either way.

// membersChanged is what a worker publishes on a topic's channel when it comes
// or goes.
const membersChanged = "members"

// recheck is how often the topics' definitions are compared again.
const recheck = 30 * time.Second

// allowed reports what the Redis user may not do with the topics, before any of
// it is tried.
func (c *Consumer) allowed(ctx context.Context) error {
	topics := make([]rights.Topic, len(c.topics))
	for i, t := range c.topics {
		topics[i] = rights.Topic{Name: t.name, Slots: t.WithDefaults().Slots}
	}
	return rights.Check(ctx, c.rdb, rights.Need{Worker: true}, topics...)
}

// agree compares the topic's definition with the stored one, and tells the number of
// slots where the topic leaves it open.
func (c *Consumer) agree(ctx context.Context, t *topic) (message.Topic, error) {
	by := definition.Sharing{Way: definition.SharingRedis}
	if c.cfg.Slots != nil {
		by.Way = definition.SharingZooKeeper
		if term := c.term.Load(); term != nil {
			by.Tree = term.member.Tree()
		}
	}
	return definition.Agree(ctx, c.scripts, t.name, t.Topic, by)
}

// join makes the worker known to the others, and begins its first term.
func (c *Consumer) join(ctx context.Context) error {
	if c.cfg.Slots != nil {
		return c.enterFirst(ctx)
	}
	t := c.newTerm()
	t.id = c.id
	c.begin(t)
	return each(ctx, c.topics, c.show)
}

// show enters the worker in a topic's list of members, and works at the slots
// that are its share by that list. A newcomer may have to wait.
func (c *Consumer) show(ctx context.Context, t *topic) error {
	now := time.Now()
	if !t.listed {
		others, changed, err := c.list(ctx, t, now, false)
		if err != nil {
			return err
		}
		t.newcomer = len(others) > 0
		if c.kept(ctx, t, others, now) {
			if changed { // one of the others has vanished
				c.announce(t, luascripts.WorkersKey(t.name), []byte(membersChanged))
			}
			return nil
		}
	}
	members, changed, err := c.list(ctx, t, now, true)
	if err != nil {
		return err
	}
	t.listed = true
	if changed {
		c.announce(t, luascripts.WorkersKey(t.name), []byte(membersChanged))
	}
	c.assign(t, c.term.Load(), slots.Share(members, len(t.slots))[c.id])
	return nil
}

// list enters the worker in a topic's list of members, or takes it out.
func (c *Consumer) list(ctx context.Context, t *topic, now time.Time, here bool) (members []string, changed bool, err error) {
	err = c.beside(ctx, luascripts.WorkersKey(t.name), func() (err error) {
		members, changed, err = c.scripts.Members(ctx, t.name, c.id, c.counts(t, now), here)
		return err
	})
	return members, changed, err
}

// attend keeps the worker in a topic's list of members, if it has one, follows its
// changes, and compares the definition now and then. Each topic has its own: the
// server that holds one's list may hang.
func (c *Consumer) attend(t *topic) {
	period := c.nextShow(t, time.Now())
	if !t.newcomer {
		period = t.first(period)
	}
	refresh := time.NewTicker(period)
	defer refresh.Stop()
	compared, comparing := time.Now(), false
	agreed := make(chan error, 1)
	for {
		due := false
		select {
		case <-refresh.C:
			refresh.Reset(c.nextShow(t, time.Now()))
			due = t.refused.Load() || time.Since(compared) > c.recheck
		case <-t.poke:
		case err := <-agreed:
			comparing = false
			if conflict := errors.Is(err, message.ErrTopicConflict); conflict && !t.refused.Swap(true) {
				c.log.Error("topic is not worked at", zap.String("topic", t.Name), zap.Error(err))
				c.workAt(t, c.term.Load())
			} else if err != nil || !t.refused.Swap(false) {
				continue // as before
			}
		case <-c.background.Done():
			return
		}
		if due && !comparing {
			compared, comparing = time.Now(), true // aside: its server may hang, and the list be on another
			c.attending.Go(func() {
				_, err := c.agree(c.background, t)
				agreed <- err
			})
		}
		if t.refused.Load() {
			continue
		}
		if c.cfg.Slots != nil {
			c.workAt(t, c.term.Load())
			continue
		}
		if err := c.show(c.background, t); err != nil && c.background.Err() == nil {
			nodes.Failed(c.background, c.rdb, err)
			c.log.Warn("list of members could not be refreshed", zap.String("topic", t.Name), zap.Error(err))
		}
	}
}

// resign makes the others take the worker's slots: it leaves the lists of members,
// or tells the coordinator. If it cannot, they notice after its lease or session.
func (c *Consumer) resign() {
	ctx, cancel := context.WithTimeout(c.requests, grace)
	defer cancel()
	// A refresh under way would put it back after it was taken out.
	c.stopRest()
	within(ctx, &c.attending)
	if c.cfg.Slots != nil {
		if err := c.term.Load().member.Leaving(ctx); err != nil {
			c.log.Warn("the slots could not be offered to others", zap.Error(err))
		}
		return
	}
	var resigning sync.WaitGroup
	for _, t := range c.topics {
		resigning.Go(func() {
			_, _, err := c.list(ctx, t, time.Now(), false)
			if err != nil {
				c.log.Warn("list of members could not be left", zap.String("topic", t.Name), zap.Error(err))
				return
			}
			c.announce(t, luascripts.WorkersKey(t.name), []byte(membersChanged))
		})
	}
	within(ctx, &resigning)
}

// within waits for a group, and no longer than ctx: a Redis client need not heed
// that while it waits for an answer.
func within(ctx context.Context, group *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}
