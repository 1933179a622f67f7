package gateway

import (
	"errors"
	"net/http"

	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// explained is what GET /v1/topics/{topic}/messages answers.
type explained struct {
	Found   []wire.Explanation `json:"found"`
	Missing []wire.Missing     `json:"missing,omitempty"`
}

// explain says where a message is and what it waits for.
func explain(c *call) error {
	content, basis, err := c.query.Named()
	if err != nil {
		return err
	}
	topic := c.topic()
	found, err := c.inspector.Explain(c.ctx(), topic, content, basis)
	missing, other := c.missing(err)
	switch {
	case other != nil || len(found) == 0 && err != nil: // then it is not known whether it is there
		return err
	case len(found) == 0:
		return nowhere(topic, basis)
	}
	answer := explained{make([]wire.Explanation, len(found)), missing}
	for n, e := range found {
		answer.Found[n] = wire.ExplanationOf(e, false)
	}
	return c.answer(http.StatusOK, answer)
}

func nowhere(topic, basis string) error {
	where := "in the slot of this basis; without a basis all slots are looked at"
	if basis == "" {
		where = "in all slots"
	}
	return problem.New("not-found", "the message is not in topic %q: it was never sent, or is handled already, or was sent with another content; looked %s", topic, where)
}

// cancel removes a message that waits, and asks the worker of one in flight to stop.
func cancel(c *call) error {
	content, basis, err := c.query.Named()
	if err != nil {
		return err
	}
	topic := c.topic()
	removed, flying, err := c.inspector.Cancel(c.ctx(), topic, content, basis)
	if err != nil {
		return c.unsure(err)
	}
	return c.answer(http.StatusOK, wire.Cancelled{Topic: topic, Shown: wire.Show(content, false), Removed: removed, InFlight: flying})
}

// reschedule gives a message that waits another time or priority.
func reschedule(c *call) error {
	content, basis, err := c.query.Named()
	if err != nil {
		return err
	}
	var asked request.Move
	if err := c.read(&asked); err != nil {
		return err
	}
	by, to, err := asked.To()
	if err != nil {
		return err
	}
	topic := c.topic()
	entry, err := c.inspector.Reschedule(c.ctx(), topic, content, basis, to)
	var wrong *message.InvalidError
	switch {
	case errors.As(err, &wrong) && wrong.Field == "Move":
		return problem.Invalid(by, wrong.Value, wrong.Limit)
	case err != nil:
		return c.unsure(err)
	}
	return c.answer(http.StatusOK, wire.EntryOf(topic, entry, false))
}
