package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/message"
)

// explained is what GET /v1/topics/{topic}/messages answers.
type explained struct {
	Found   []wire.Explanation `json:"found"`
	Missing []wire.Missing     `json:"missing,omitempty"`
}

// explain says where a message is and what it waits for.
func (c *call) explain() error {
	content, basis, err := c.named()
	if err != nil {
		return err
	}
	topic := c.r.PathValue("topic")
	found, err := c.inspector.Explain(c.ctx(), topic, content, basis)
	missing, other := c.missing(err)
	switch {
	case other != nil || len(found) == 0 && err != nil: // then it is not known whether it is there
		return err
	case len(found) == 0:
		return c.nowhere(topic, basis)
	}
	answer := explained{make([]wire.Explanation, len(found)), missing}
	for n, e := range found {
		answer.Found[n] = wire.ExplanationOf(e, false)
	}
	return c.answer(http.StatusOK, answer)
}

func (c *call) nowhere(topic, basis string) error {
	where := "in the slot of this basis; without a basis all slots are looked at"
	if basis == "" {
		where = "in all slots"
	}
	return &problem{Type: "not-found", Status: http.StatusNotFound,
		Detail: fmt.Sprintf("the message is not in topic %q: it was never sent, or is handled already, or was sent with another content; looked %s", topic, where)}
}

// cancel removes a message that waits, and asks the worker of one in flight to stop.
func (c *call) cancel() error {
	content, basis, err := c.named()
	if err != nil {
		return err
	}
	topic := c.r.PathValue("topic")
	removed, flying, err := c.inspector.Cancel(c.ctx(), topic, content, basis)
	if err != nil {
		return c.unsure(err)
	}
	return c.answer(http.StatusOK, wire.Cancelled{Topic: topic, Shown: wire.Show(content, false), Removed: removed, InFlight: flying})
}

// moving is what PATCH /v1/topics/{topic}/messages is asked: one of the three.
type moving struct {
	In       *string `json:"in"`
	At       *string `json:"at"`
	Priority *int64  `json:"priority"`
}

// reschedule gives a message that waits another time or priority.
func (c *call) reschedule() error {
	content, basis, err := c.named()
	if err != nil {
		return err
	}
	var asked moving
	if err := c.read(&asked); err != nil {
		return err
	}
	by, to, err := asked.move()
	if err != nil {
		return err
	}
	topic := c.r.PathValue("topic")
	entry, err := c.inspector.Reschedule(c.ctx(), topic, content, basis, to)
	var wrong *message.InvalidError
	switch {
	case errors.As(err, &wrong) && wrong.Field == "Move":
		return invalid(by, wrong.Value, wrong.Limit)
	case err != nil:
		return c.unsure(err)
	}
	return c.answer(http.StatusOK, wire.EntryOf(topic, entry, false))
}

// move is where to, and the field that says so.
func (m moving) move() (by string, to inspector.Move, err error) {
	const one = "one of in, at and priority"
	for _, f := range [...]struct {
		name  string
		given bool
	}{{"in", m.In != nil}, {"at", m.At != nil}, {"priority", m.Priority != nil}} {
		switch {
		case f.given && by != "":
			return by, to, invalid(f.name, "given beside "+by, one)
		case f.given:
			by = f.name
		}
	}
	switch by {
	case "in":
		if to.In, err = humantime.ParseSpan(*m.In); err != nil || to.In > 0 && to.In < time.Millisecond {
			err = invalid(by, *m.In, "a duration of 1ms or more, such as 90s, 1h30m or 7d; or 0, which is now")
		}
	case "at":
		if to.At, err = humantime.ParseStamp(*m.At); err != nil {
			err = invalid(by, *m.At, "a time such as 2026-01-31T15:04:05Z")
		}
	case "priority":
		if to.Priority = *m.Priority; to.Priority == 0 { // which a move takes for none
			err = invalid(by, "0", "17 to 9007199254740991 (2^53 - 1)")
		}
	default:
		err = invalid("in", "missing", one)
	}
	return by, to, err
}
