package gateway

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// maxListed is how many bytes of contents and errors one answer lists, unless one message alone has more.
const maxListed = 8 << 20

// listDead lists dead messages, the latest first.
func listDead(c *call) error {
	f, err := c.query.Filter()
	if err != nil {
		return err
	}
	topic := c.topic()
	if _, err := c.inspector.Topic(c.ctx(), topic); err != nil {
		return err
	}
	q, err := f.Query(c.clock)
	if err != nil {
		return err
	}
	q.Newest = true
	if c.wantsStream() {
		if q.Limit, err = c.query.Number("limit", 0, 1<<31-1); err != nil {
			return err
		}
		return streamDead(c, topic, q)
	}
	limit, err := c.query.Limit()
	if err != nil {
		return err
	}
	q.Limit = limit + 1 // to know whether there are more
	answer := deadList{Messages: []wire.Dead{}}
	for e, err := range c.inspector.Dead().List(c.ctx(), topic, q) {
		if err != nil {
			if answer.Missing, err = c.missing(err); err != nil {
				return err
			}
			break
		}
		answer.add(e, limit)
	}
	return c.answer(http.StatusOK, answer)
}

// deadList is what it answers.
type deadList struct {
	Messages []wire.Dead `json:"messages"`
	list
	bytes int
}

// add adds a message, unless there is no room for another one.
func (l *deadList) add(e inspector.Entry, limit int) {
	l.bytes += len(e.Content)
	if e.Failure != nil {
		l.bytes += len(e.Failure.Reason)
	}
	if l.More = l.More || len(l.Messages) == limit || l.bytes > maxListed && len(l.Messages) > 0; !l.More {
		l.Messages = append(l.Messages, wire.DeadOf(e, false))
	}
}

// streamDead lists them all.
func streamDead(c *call, topic string, q inspector.DeadQuery) error {
	s := c.stream()
	for e, err := range c.inspector.Dead().List(c.ctx(), topic, q) {
		if err != nil {
			missing, err := c.missing(err)
			return s.end(err, missing)
		}
		if !s.line(wire.DeadOf(e, false), false) {
			break
		}
	}
	return s.end(nil, nil)
}

// deadRequest is what requeue and delete are asked. The filter is required, since without one all are meant: {} says so.
type deadRequest struct {
	Filter   *request.Filter `json:"filter"`
	Limit    int             `json:"limit"`
	Rate     string          `json:"rate"`     // requeue
	Priority int64           `json:"priority"` // requeue
	DryRun   bool            `json:"dry_run"`
}

// query is the question to the inspector, and the topic.
func (asked deadRequest) query(c *call) (t inspector.Topic, q inspector.DeadQuery, err error) {
	switch {
	case asked.Filter == nil:
		err = problem.Invalid("filter", "missing", `an object such as {"content": "order 47*"}; {} is all of them`)
		return
	case asked.Limit < 0:
		err = problem.Invalid("limit", strconv.Itoa(asked.Limit), "1 or more; leave it out for all")
		return
	}
	if t, err = c.inspector.Topic(c.ctx(), c.topic()); err != nil {
		return
	}
	if q, err = asked.Filter.Query(c.clock); err != nil {
		return t, q, problem.Inside(err, "filter")
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

// requeueDead lets dead messages be delivered again.
func requeueDead(c *call, asked deadRequest) error {
	t, q, err := asked.query(c)
	if err != nil {
		return err
	}
	o := inspector.RequeueOptions{Priority: asked.Priority}
	if o.Rate, err = request.Rate(asked.Rate, "100/s"); err != nil {
		return err
	}
	if asked.Priority != 0 {
		if t.Kind.Timed() {
			return problem.Invalid("priority", strconv.FormatInt(asked.Priority, 10), "missing in a topic of kind "+t.Kind.String()+", which has times")
		}
		if err := checked.Priority(asked.Priority); err != nil {
			return err
		}
	}
	total, err := c.inspector.Dead().Count(c.ctx(), t.Name, q)
	switch {
	case err != nil:
		return c.undone(err)
	case asked.DryRun:
		return c.answer(http.StatusOK, wire.WouldRequeue{Topic: t.Name, Would: total})
	}
	return c.work(func(report func(line any)) (func(done bool) any, string, error) {
		line := func(so inspector.Requeued, done bool) any {
			return requeued{wire.Requeued{Topic: t.Name, Requeued: so}, total, done}
		}
		o.Progress = func(so inspector.Requeued) { report(line(so, false)) }
		so, err := c.inspector.Dead().Requeue(c.ctx(), t.Name, q, o)
		return func(done bool) any { return line(so, done) }, fmt.Sprintf("%d requeued", so.Stored+so.Merged), err
	})
}

// deleted is a line of progress, and the answer.
type deleted struct {
	wire.Deleted
	Of   int  `json:"of"`
	Done bool `json:"done"`
}

// deleteDead forgets dead messages for ever.
func deleteDead(c *call, asked deadRequest) error {
	t, q, err := asked.query(c)
	switch {
	case err != nil:
		return err
	case asked.Rate != "":
		return problem.Invalid("rate", strconv.Quote(asked.Rate), "missing: it is for requeue")
	case asked.Priority != 0:
		return problem.Invalid("priority", strconv.FormatInt(asked.Priority, 10), "missing: it is for requeue")
	}
	total, err := c.inspector.Dead().Count(c.ctx(), t.Name, q)
	switch {
	case err != nil:
		return c.undone(err)
	case asked.DryRun:
		return c.answer(http.StatusOK, wire.WouldDelete{Topic: t.Name, Would: total})
	}
	return c.work(func(report func(line any)) (func(done bool) any, string, error) {
		n, lost, err := c.inspector.Dead().Delete(c.ctx(), t.Name, q, func(n int) { report(deleted{wire.Deleted{Topic: t.Name, Deleted: n}, total, false}) })
		return func(done bool) any { return deleted{wire.Deleted{Topic: t.Name, Deleted: n, Lost: lost}, total, done} }, fmt.Sprintf("%d deleted", n), err
	})
}
