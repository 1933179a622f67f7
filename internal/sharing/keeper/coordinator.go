package keeper

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
)

// coordinator assigns the slots of all topics to the workers, for one time in office: it trusts
// nothing from an earlier one. It need not handle a topic itself to assign its slots.
type coordinator struct {
	session *session.Session
	tree    tree
	log     *zap.Logger
	recheck time.Duration
	delays  delays

	office <-chan zk.Event // fires when this member loses the office; nil after that
	fleet  fleet
	topics map[string]*shares
	delay  delay
}

// lead assigns slots until the office is lost, or there is an error.
func (c *coordinator) lead(ctx context.Context) error {
	back, stop := c.session.Reconnected()
	defer stop()
	again := time.NewTicker(c.recheck)
	defer again.Stop()
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	listen := time.NewTimer(0)
	defer listen.Stop()

	for all := true; ; {
		now := time.Now()
		changed, err := c.refresh(ctx, all)
		if err != nil {
			return err
		}
		if newcomers, err := c.fleet.readWrites(ctx, c.session, c.tree, c.topics, now, c.log); err != nil {
			return err
		} else if newcomers {
			listen.Reset(c.session.Timeout() / session.Beats / 2)
		}
		plans, urgent := c.plan(now)
		c.arm(alarm, now, len(plans) > 0, changed, urgent)
		all = false
		select {
		case <-alarm.C:
			c.delay.reset()
			if err := c.write(ctx, plans); err != nil {
				return err
			}
		case <-listen.C:
		case <-c.fleet.watch:
			c.fleet.watch = nil
		case <-c.office:
			c.office = nil
		case <-back:
			all = true
		case <-again.C:
			all = true
		case <-c.session.Context().Done():
			return errOver
		case <-ctx.Done():
			return errOver
		}
	}
}

// arm sets the alarm at which the plans are written, and stops it if there are none.
func (c *coordinator) arm(alarm *time.Timer, now time.Time, plans, changed, urgent bool) {
	switch {
	case !plans:
		c.delay.reset()
		alarm.Stop()
	case changed || c.delay.first.IsZero():
		c.delay.note(now, urgent, c.delays)
		alarm.Reset(time.Until(c.delay.due))
	}
}

// refresh updates what this member knows, and reports whether there are other workers
// than before.
func (c *coordinator) refresh(ctx context.Context, all bool) (changed bool, err error) {
	if all || c.office == nil {
		if err := c.inOffice(ctx); err != nil {
			return false, err
		}
	}
	if all || c.fleet.watch == nil {
		if changed, err = c.fleet.refresh(ctx, c.session, c.tree, c.log); err != nil {
			return false, err
		}
	}
	for topic := range c.fleet.topics() {
		h := c.topics[topic]
		if h == nil {
			h = &shares{topic: topic}
			c.topics[topic] = h
		}
		if (h.known || h.broken) && !all {
			continue
		}
		if err := c.judge(h, h.read(ctx, c.session, c.tree)); err != nil {
			return false, err
		}
	}
	return changed, nil
}

// inOffice is errNotMine if this member is not the coordinator, or no more.
func (c *coordinator) inOffice(ctx context.Context) (err error) {
	var there bool
	var stat *zk.Stat
	if c.office == nil {
		there, stat, c.office, err = c.session.ExistsW(ctx, c.tree.coordinator())
	} else {
		there, stat, err = c.session.Exists(ctx, c.tree.coordinator())
	}
	if err == nil && (!there || stat.EphemeralOwner != c.session.ID()) {
		return errNotMine
	}
	return err
}

// judge logs an error that concerns one topic only, and returns any other error.
func (c *coordinator) judge(h *shares, err error) error {
	if h.broken = errors.Is(err, errBroken); h.broken {
		c.log.Error("topic is not shared out", zap.String("topic", h.topic), zap.Error(err))
		return nil
	}
	return err
}

// plan returns the topics that need another assignment, and that assignment.
func (c *coordinator) plan(now time.Time) (plans map[string][]string, urgent bool) {
	plans = map[string][]string{}
	for topic := range c.fleet.topics() {
		h := c.topics[topic]
		owners, soon := h.plan(c.fleet.admitted(topic, h.last.owners, c.session.Timeout(), now))
		if owners != nil {
			plans[topic] = owners
		}
		urgent = urgent || soon
	}
	return plans, urgent
}

func (c *coordinator) write(ctx context.Context, plans map[string][]string) error {
	for _, topic := range slices.Sorted(maps.Keys(plans)) {
		h := c.topics[topic]
		moved, err := h.write(ctx, c.session, c.tree, plans[topic])
		if err = c.judge(h, err); err != nil {
			return err
		}
		if h.known {
			c.log.Info("slots were assigned", zap.String("topic", topic), zap.Int("workers", len(h.last.workers())),
				zap.Int("moved", moved), zap.Int64("gen", h.last.gen))
		}
	}
	return nil
}
