package gateway

import (
	"context"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/poll"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// takes are the batches that are given out.
type takes struct {
	poller  *poll.Poller
	metrics *Metrics
	waiting chan struct{} // has a place for each take that may wait
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
func (t *takes) take(c *call, asked request.Take) error {
	o, err := asked.Options()
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
		case t.waiting <- struct{}{}:
			defer func() { <-t.waiting }()
		default:
			return problem.NotNow("too-many", problem.Soon, "%d requests wait for messages already, as many as may; start rmqd serve with a larger --max-waiting, or more of them", c.cfg.MaxWaiting)
		}
	}
	ctx, cancel := context.WithCancel(c.ctx())
	defer cancel()
	defer context.AfterFunc(c.closing, cancel)()
	held, err := t.poller.Take(ctx, asked.Topics, o)
	switch {
	case err != nil:
		return err
	case held == nil:
		c.begun = true
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	t.gaveOut(c, held)
	if err := c.answer(http.StatusOK, takenOf(held)); err != nil {
		t.giveBack(c, held)
	}
	return nil
}

// gaveOut counts a batch that is about to be answered.
func (t *takes) gaveOut(c *call, h *poll.Held) {
	t.metrics.given(h.Receipt, h.Until)
	t.metrics.count(protocol.Qualify(c.cfg.Namespace, h.Topic.Name), message.Taken, len(h.Messages))
}

// giveBack gives back a batch that could not be written to who asked for it.
func (t *takes) giveBack(c *call, h *poll.Held) {
	t.metrics.given(h.Receipt, time.Time{})
	if _, err := t.poller.Finish(context.WithoutCancel(c.ctx()), h.Receipt, poll.NotStarted()); err != nil {
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

// counted is what POST /v1/finish and /v1/fail answer.
type counted struct {
	Counted bool `json:"counted"` // false: it had been finished before, or was taken over because its time to run had ended
}

func (t *takes) finish(c *call, asked request.Finish) error {
	verdicts, outcomes, err := asked.Verdicts()
	return t.end(c, asked.Receipt, verdicts, outcomes, err)
}

func (t *takes) fail(c *call) error {
	asked := request.Fail{Verdict: request.Verdict{Outcome: request.Failed}}
	if err := c.read(&asked); err != nil {
		return err
	}
	verdicts, outcomes, err := asked.Verdicts()
	return t.end(c, asked.Receipt, verdicts, outcomes, err)
}

// end answers what becomes of a batch. err is that of reading the verdicts.
func (t *takes) end(c *call, receipt string, verdicts []poll.Verdict, outcomes request.Outcomes, err error) error {
	if err == nil {
		err = mayFinish(c, receipt)
	}
	if err != nil {
		return err
	}
	did, err := t.finished(c, receipt, outcomes, verdicts...)
	if err != nil {
		return err
	}
	return c.answer(http.StatusOK, counted{did})
}

// finished says what became of a batch, and reports whether that counts.
func (t *takes) finished(c *call, receipt string, outcomes request.Outcomes, verdicts ...poll.Verdict) (bool, error) {
	ctx, cancel := context.WithTimeout(c.ctx(), c.answerWithin)
	defer cancel()
	did, err := t.poller.Finish(ctx, receipt, verdicts...)
	if err != nil {
		return false, err
	}
	t.metrics.given(receipt, time.Time{})
	if did {
		t.settled(c, receipt, outcomes)
	}
	return did, nil
}

// mayFinish is an error unless the receipt is a valid one, of a topic from which the
// holder may take.
func mayFinish(c *call, receipt string) error {
	if receipt == "" {
		return problem.Invalid("receipt", "missing", "the receipt of a take, whole and unchanged")
	}
	topic, err := poll.TopicOf(receipt)
	if err != nil {
		return err
	}
	return c.may(topic)
}

// whatBecame is what the outcomes are called in metrics.
var whatBecame = map[string]message.What{
	"": message.Done, request.Failed: message.Failed, request.Dead: message.Died, request.Later: message.Snoozed, request.NotStarted: message.HandedBack,
}

// settled counts what became of a batch. It is done here and not by an observer of the poller: for an observer, every
// finish would have to read the contents of its batch.
func (t *takes) settled(c *call, receipt string, outcomes request.Outcomes) {
	name, err := poll.TopicOf(receipt)
	left, err2 := poll.SizeOf(receipt)
	if err != nil || err2 != nil {
		return // it was finished, so it is one
	}
	topic := protocol.Qualify(c.cfg.Namespace, name)
	for outcome, n := range outcomes.Of {
		t.metrics.count(topic, whatBecame[outcome], n)
		left -= n
	}
	t.metrics.count(topic, whatBecame[outcomes.Rest], left)
}

// extending is what POST /v1/extend is asked.
type extending struct {
	Receipt string `json:"receipt"`
}

// extended is what it answers.
type extended struct {
	Held      bool         `json:"held"` // false: stop working on it
	Until     wire.Stamp   `json:"until,omitzero"`
	Cancelled []wire.Shown `json:"cancelled,omitempty"`
}

func (t *takes) extend(c *call, asked extending) error {
	if err := mayFinish(c, asked.Receipt); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx(), c.answerWithin)
	defer cancel()
	x, err := t.poller.Extend(ctx, asked.Receipt)
	if err != nil {
		return err
	}
	t.metrics.given(asked.Receipt, x.Until) // the zero time if it is not held
	answer := extended{Held: x.Held, Until: wire.At(x.Until)}
	for _, content := range x.Cancelled {
		answer.Cancelled = append(answer.Cancelled, wire.Show(content, false))
	}
	return c.answer(http.StatusOK, answer)
}
