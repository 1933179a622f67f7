package gateway

import (
	"context"
	"net/http"

	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

func pause(c *call) error  { return setPaused(c, c.inspector.Pause) }
func resume(c *call) error { return setPaused(c, c.inspector.Resume) }

// setPaused stops slots of a topic, or lets them go on. Without a body all of them are meant.
func setPaused(c *call, do func(ctx context.Context, topic string, slots []int) (int, error)) error {
	var asked request.Slots
	if c.r.ContentLength != 0 {
		if err := c.read(&asked); err != nil {
			return err
		}
	}
	slots, err := asked.Meant()
	if err != nil {
		return err
	}
	t, err := c.inspector.Topic(c.ctx(), c.topic())
	if err != nil {
		return err
	}
	meant := t.Slots
	if slots != nil {
		meant = len(slots)
	}
	changed, err := do(c.ctx(), t.Name, slots)
	if err != nil {
		return c.undone(err)
	}
	return c.answer(http.StatusOK, wire.Paused{Topic: t.Name, Slots: meant, Changed: changed})
}

// setLimit slows a topic down for some time.
func setLimit(c *call, asked request.Limit) error {
	p, err := asked.Policy()
	if err != nil {
		return err
	}
	t, err := c.inspector.Topic(c.ctx(), c.topic())
	if err != nil {
		return err
	}
	if err := c.inspector.Limit(c.ctx(), t.Name, p); err != nil {
		return c.undone(err)
	}
	return c.answer(http.StatusOK, wire.Limited{Topic: t.Name, Limit: wire.LimitOf(p)})
}

// endLimit ends a limit.
func endLimit(c *call) error {
	t, err := c.inspector.Topic(c.ctx(), c.topic())
	if err != nil {
		return err
	}
	was, err := c.inspector.Unlimit(c.ctx(), t.Name)
	if err != nil {
		return c.undone(err)
	}
	return c.answer(http.StatusOK, wire.Unlimited{Topic: t.Name, Changed: was})
}
