package gateway

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
)

func (c *call) pause() error  { return c.halt(c.inspector.Pause) }
func (c *call) resume() error { return c.halt(c.inspector.Resume) }

// halt stops slots of a topic, or lets them go on. Without a body all of them are meant.
func (c *call) halt(do func(ctx context.Context, topic string, slots []int) (int, error)) error {
	if _, err := c.query(); err != nil {
		return err
	}
	var asked struct {
		Slots []int `json:"slots"`
	}
	if c.r.ContentLength != 0 {
		if err := c.read(&asked); err != nil {
			return err
		}
	}
	if asked.Slots != nil && len(asked.Slots) == 0 {
		return invalid("slots", "[]", "the numbers of some slots; leave it out for all")
	}
	t, err := c.inspector.Topic(c.ctx(), c.r.PathValue("topic"))
	if err != nil {
		return err
	}
	meant := t.Slots
	if asked.Slots != nil {
		slices.Sort(asked.Slots)
		asked.Slots = slices.Compact(asked.Slots)
		meant = len(asked.Slots)
	}
	changed, err := do(c.ctx(), t.Name, asked.Slots)
	if err != nil {
		return c.undone(err)
	}
	return c.answer(http.StatusOK, wire.Paused{Topic: t.Name, Slots: meant, Changed: changed})
}

// limit slows a topic down for some time.
func (c *call) limit() error {
	if _, err := c.query(); err != nil {
		return err
	}
	var asked struct {
		Rate        *string `json:"rate"`
		Concurrency *int    `json:"concurrency"`
		For         string  `json:"for"`
	}
	if err := c.read(&asked); err != nil {
		return err
	}
	var p inspector.Policy
	switch {
	case asked.For == "":
		return invalid("for", "missing", "how long the limit is to hold, as in 1h")
	case asked.Rate == nil && asked.Concurrency == nil:
		return invalid("rate", "missing", "a rate such as 50/s, unless there is a concurrency")
	case asked.Concurrency != nil && *asked.Concurrency < 1:
		return invalid("concurrency", strconv.Itoa(*asked.Concurrency), "1 or more; to stop a topic, pause it")
	case asked.Concurrency != nil:
		p.Concurrency = *asked.Concurrency
	}
	if asked.Rate != nil {
		var err error
		if p.Rate, err = humantime.ParseRate(*asked.Rate); err != nil {
			return invalid("rate", strconv.Quote(*asked.Rate), "a rate from 3.6/h to 1000000/s, such as 50/s; to stop a topic, pause it")
		}
	}
	if err := spans(field{"for", asked.For, &p.For}); err != nil {
		return err
	}
	if p.For < time.Second {
		return invalid("for", asked.For, "from 1s to 10 years")
	}
	t, err := c.inspector.Topic(c.ctx(), c.r.PathValue("topic"))
	if err != nil {
		return err
	}
	if err := c.inspector.Limit(c.ctx(), t.Name, p); err != nil {
		return c.undone(err)
	}
	return c.answer(http.StatusOK, wire.Limited{Topic: t.Name, Limit: wire.LimitOf(p)})
}

// unlimit ends a limit.
func (c *call) unlimit() error {
	if _, err := c.query(); err != nil {
		return err
	}
	t, err := c.inspector.Topic(c.ctx(), c.r.PathValue("topic"))
	if err != nil {
		return err
	}
	was, err := c.inspector.Unlimit(c.ctx(), t.Name)
	if err != nil {
		return c.undone(err)
	}
	return c.answer(http.StatusOK, wire.Unlimited{Topic: t.Name, Changed: was})
}
