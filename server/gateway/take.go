package gateway

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/poll"
)

// taking is what POST /v1/take is asked.
type taking struct {
	Topics []string `json:"topics"`
	Most   *int     `json:"most"`
	TTR    string   `json:"ttr"`
	Wait   string   `json:"wait"`
}

// taken is a batch as it is given out.
type taken struct {
	Receipt   string         `json:"receipt"`
	Topic     string         `json:"topic"`
	Slot      int            `json:"slot"`
	Fence     int64          `json:"fence"`
	Attempt   int            `json:"attempt"`
	Last      bool           `json:"last,omitempty"` // if it fails now, it is dead
	Until     wire.Stamp     `json:"until"`
	LastError string         `json:"last_error,omitempty"`
	Messages  []takenMessage `json:"messages"`
}

type takenMessage struct {
	wire.Shown
	Priority  int64             `json:"priority,omitempty"`
	Due       wire.Stamp        `json:"due,omitzero"`
	Sends     int               `json:"sends,omitempty"`
	FirstSent wire.Stamp        `json:"first_sent,omitzero"`
	LastSent  wire.Stamp        `json:"last_sent,omitzero"`
	Expires   wire.Stamp        `json:"expires,omitzero"`
	Headers   map[string]string `json:"headers,omitempty"`
}

// take gives out a batch, or says 204 if nothing came.
func (c *call) take() error {
	var asked taking
	if err := c.read(&asked); err != nil {
		return err
	}
	if len(asked.Topics) == 0 {
		return invalid("topics", "missing", fmt.Sprintf("1 to %d names of topics", poll.MostTopics))
	}
	o, err := asked.options()
	if err != nil {
		return err
	}
	for _, topic := range asked.Topics {
		if err := c.may(topic); err != nil {
			return err
		}
	}
	if o.Wait > 0 {
		select {
		case c.waiting <- struct{}{}:
			defer func() { <-c.waiting }()
		default:
			return tooMany(unavailableFor, fmt.Sprintf("%d requests wait for messages already, as many as may; start rmqd serve with a larger --max-waiting, or more of them", c.cfg.MaxWaiting))
		}
	}
	ctx, cancel := context.WithCancel(c.ctx())
	defer cancel()
	defer context.AfterFunc(c.closing, cancel)()
	held, err := c.poller.Take(ctx, asked.Topics, o)
	switch {
	case err != nil:
		return err
	case held == nil:
		c.begun = true
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	c.gaveOut(held)
	if err := c.answer(http.StatusOK, takenOf(held)); err != nil {
		c.giveBack(held)
	}
	return nil
}

// options are how to take. What is given counts, also where it is 0.
func (asked *taking) options() (o poll.Take, err error) {
	if err := spans(field{"ttr", asked.TTR, &o.TTR}, field{"wait", asked.Wait, &o.Wait}); err != nil {
		return o, err
	}
	if asked.Most != nil {
		o.Most = *asked.Most
	}
	switch {
	case asked.TTR != "" && o.TTR == 0:
		return o, invalid("ttr", asked.TTR, "from 1s to 12h")
	case asked.Most != nil && o.Most == 0:
		return o, invalid("most", "0", "1 to 256")
	case o.Wait > maxWait:
		return o, invalid("wait", asked.Wait, "at most 60s")
	}
	return o, nil
}

// gaveOut counts a batch that is about to be answered.
func (c *call) gaveOut(h *poll.Held) {
	c.metrics.given(h.Receipt, h.Until)
	c.metrics.count(luascripts.Qualify(c.cfg.Namespace, h.Topic.Name), message.Taken, len(h.Messages))
}

// giveBack gives back a batch that could not be written to who asked for it.
func (c *call) giveBack(h *poll.Held) {
	c.metrics.given(h.Receipt, time.Time{})
	if _, err := c.poller.Finish(context.WithoutCancel(c.ctx()), h.Receipt, poll.NotStarted()); err != nil {
		c.log.Warn("a batch that was not received comes again when its time to run is over", zap.String("topic", h.Topic.Name), zap.Int("slot", h.Slot), zap.Error(err))
	}
}

func takenOf(h *poll.Held) taken {
	t := taken{
		Receipt: h.Receipt, Topic: h.Topic.Name, Slot: h.Slot, Fence: h.Fence, Attempt: h.Attempt, Last: h.Last(),
		Until: wire.At(h.Until), LastError: h.LastError, Messages: make([]takenMessage, len(h.Messages)),
	}
	for n, m := range h.Messages {
		t.Messages[n] = takenMessage{
			wire.Show(m.Content, false), m.Priority, wire.At(m.Due), m.Sends, wire.At(m.FirstSent), wire.At(m.LastSent), wire.At(m.Expires), m.Headers,
		}
	}
	return t
}
