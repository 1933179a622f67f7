package gateway

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
)

// burial is what requeue and delete are asked. The filter is required, since without one all are meant: {} says so.
type burial struct {
	Filter   *filter `json:"filter"`
	Limit    int     `json:"limit"`
	Rate     string  `json:"rate"`     // requeue
	Priority int64   `json:"priority"` // requeue
	DryRun   bool    `json:"dry_run"`
}

// buried reads what is asked, and finds the topic.
func (c *call) buried() (asked burial, t inspector.Topic, q inspector.DeadQuery, err error) {
	if _, err = c.query(); err != nil {
		return
	}
	if err = c.read(&asked); err != nil {
		return
	}
	switch {
	case asked.Filter == nil:
		err = invalid("filter", "missing", `an object such as {"content": "order 47*"}; {} is all of them`)
		return
	case asked.Limit < 0:
		err = invalid("limit", strconv.Itoa(asked.Limit), "1 or more; leave it out for all")
		return
	}
	if t, err = c.inspector.Topic(c.ctx(), c.r.PathValue("topic")); err != nil {
		return
	}
	if q, err = asked.Filter.query(c.ctx(), c); err != nil {
		return asked, t, q, inside(err, "filter")
	}
	q.Limit = asked.Limit
	return
}

// requeued is a line of progress, and the answer.
type requeued struct {
	wire.Requeued
	Of   int  `json:"of"`   // how many are meant
	Done bool `json:"done"` // it is the last line
}

// requeueDead has dead messages delivered again.
func (c *call) requeueDead() error {
	asked, t, q, err := c.buried()
	if err != nil {
		return err
	}
	o := inspector.RequeueOptions{Priority: asked.Priority}
	if asked.Rate != "" {
		if o.Rate, err = humantime.ParseRate(asked.Rate); err != nil {
			return invalid("rate", strconv.Quote(asked.Rate), "a rate from 3.6/h to 1000000/s, such as 100/s")
		}
	}
	if asked.Priority != 0 {
		if t.Kind.Timed() {
			return invalid("priority", strconv.FormatInt(asked.Priority, 10), "missing in a topic of kind "+t.Kind.String()+", which has times")
		}
		if err := checked.Priority(asked.Priority); err != nil {
			return err
		}
	}
	total, err := c.inspector.DeadCount(c.ctx(), t.Name, q)
	switch {
	case err != nil:
		return c.undone(err)
	case asked.DryRun:
		return c.answer(http.StatusOK, wire.WouldRequeue{Topic: t.Name, Would: total})
	case !c.wantsStream():
		done, err := c.inspector.DeadRequeue(c.ctx(), t.Name, q, o)
		if err != nil {
			return c.soFar(err, fmt.Sprintf("%d requeued", done.Stored+done.Merged))
		}
		return c.answer(http.StatusOK, requeued{wire.Requeued{Topic: t.Name, Requeued: done}, total, true})
	}
	s := c.stream()
	o.Progress = func(done inspector.Requeued) {
		s.line(requeued{wire.Requeued{Topic: t.Name, Requeued: done}, total, false}, true)
	}
	done, err := c.inspector.DeadRequeue(c.ctx(), t.Name, q, o)
	s.line(requeued{wire.Requeued{Topic: t.Name, Requeued: done}, total, err == nil}, true)
	return s.end(c.undone(err), nil)
}

// soFar is the error of a call that was stopped on its way.
func (c *call) soFar(err error, far string) error {
	err = c.undone(err)
	if p, is := err.(*problem); is {
		p.Detail = far + " of those meant; " + p.Detail
	}
	return err
}

// deleted is a line of progress, and the answer.
type deleted struct {
	wire.Deleted
	Of   int  `json:"of"`
	Done bool `json:"done"`
}

// deleteDead forgets dead messages for ever.
func (c *call) deleteDead() error {
	asked, t, q, err := c.buried()
	switch {
	case err != nil:
		return err
	case asked.Rate != "":
		return invalid("rate", strconv.Quote(asked.Rate), "missing: it is for requeue")
	case asked.Priority != 0:
		return invalid("priority", strconv.FormatInt(asked.Priority, 10), "missing: it is for requeue")
	}
	total, err := c.inspector.DeadCount(c.ctx(), t.Name, q)
	switch {
	case err != nil:
		return c.undone(err)
	case asked.DryRun:
		return c.answer(http.StatusOK, wire.WouldDelete{Topic: t.Name, Would: total})
	case !c.wantsStream():
		n, lost, err := c.inspector.DeadDelete(c.ctx(), t.Name, q, nil)
		if err != nil {
			return c.soFar(err, fmt.Sprintf("%d deleted", n))
		}
		return c.answer(http.StatusOK, deleted{wire.Deleted{Topic: t.Name, Deleted: n, Lost: lost}, total, true})
	}
	s := c.stream()
	n, lost, err := c.inspector.DeadDelete(c.ctx(), t.Name, q, func(n int) { s.line(deleted{wire.Deleted{Topic: t.Name, Deleted: n}, total, false}, true) })
	s.line(deleted{wire.Deleted{Topic: t.Name, Deleted: n, Lost: lost}, total, err == nil}, true)
	return s.end(c.undone(err), nil)
}
