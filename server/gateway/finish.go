package gateway

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/poll"
)

// finishing is what POST /v1/finish is asked. What no result is about is done.
type finishing struct {
	Receipt string   `json:"receipt"`
	Results []result `json:"results"`
}

// result is what became of a message, or of all messages of the batch if it names none.
type result struct {
	written
	verdict
}

type verdict struct {
	Outcome string `json:"outcome"`
	In      string `json:"in"`
	Why     string `json:"why"`
}

// failing is what POST /v1/fail is asked: the verdict is on the whole batch, and failed unless it says otherwise.
type failing struct {
	Receipt string `json:"receipt"`
	verdict
}

// counted is what both answer.
type counted struct {
	Counted bool `json:"counted"` // false: it had been finished before, or the time to run was over
}

// The outcomes.
const (
	failed     = "failed"
	dead       = "dead"
	later      = "later"
	notStarted = "not_started"
)

func (c *call) finish() error {
	var asked finishing
	if err := c.read(&asked); err != nil {
		return err
	}
	var verdicts []poll.Verdict
	said := outcomes{}
	for n, r := range asked.Results {
		v, err := r.verdict.read()
		var content string
		var one bool
		if err == nil {
			content, one, err = r.written.read()
		}
		if err != nil {
			return inside(err, fmt.Sprintf("results[%d]", n))
		}
		if one {
			v = v.Of(content)
		}
		verdicts = append(verdicts, v)
		said.add(r.Outcome, !one)
	}
	return c.end(asked.Receipt, verdicts, said)
}

func (c *call) failBatch() error {
	asked := failing{verdict: verdict{Outcome: failed}}
	if err := c.read(&asked); err != nil {
		return err
	}
	v, err := asked.verdict.read()
	if err != nil {
		return err
	}
	said := outcomes{}
	said.add(asked.Outcome, true)
	return c.end(asked.Receipt, []poll.Verdict{v}, said)
}

func (c *call) end(receipt string, verdicts []poll.Verdict, said outcomes) error {
	if err := c.mayFinish(receipt); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx(), c.answerWithin)
	defer cancel()
	did, err := c.poller.Finish(ctx, receipt, verdicts...)
	if err != nil {
		return err
	}
	c.metrics.given(receipt, time.Time{})
	if did {
		c.settled(receipt, said)
	}
	return c.answer(http.StatusOK, counted{did})
}

// mayFinish is an error unless the receipt is one, of a topic of which who asks may take.
func (c *call) mayFinish(receipt string) error {
	if receipt == "" {
		return invalid("receipt", "missing", "the receipt of a take, whole and unchanged")
	}
	topic, err := poll.TopicOf(receipt)
	if err != nil {
		return err
	}
	return c.may(topic)
}

// read is the verdict as the poller has it.
func (v verdict) read() (poll.Verdict, error) {
	var in time.Duration
	if err := spans(field{"in", v.In, &in}); err != nil {
		return poll.Verdict{}, err
	}
	if v.In != "" && (v.Outcome == dead || v.Outcome == notStarted) {
		return poll.Verdict{}, invalid("in", v.In, "missing where the outcome is "+v.Outcome)
	}
	switch v.Outcome {
	case failed:
		return poll.Failed(v.Why, in), nil
	case dead:
		return poll.Dead(v.Why), nil
	case later:
		return poll.Later(in, v.Why), nil
	case notStarted:
		return poll.NotStarted(), nil
	}
	return poll.Verdict{}, invalid("outcome", v.Outcome, "failed, dead, later or not_started; what is done needs no result")
}

// extended is what POST /v1/extend answers.
type extended struct {
	Held      bool         `json:"held"` // false: stop working on it
	Until     wire.Stamp   `json:"until,omitzero"`
	Cancelled []wire.Shown `json:"cancelled,omitempty"`
}

func (c *call) extend() error {
	var asked struct {
		Receipt string `json:"receipt"`
	}
	if err := c.read(&asked); err != nil {
		return err
	}
	if err := c.mayFinish(asked.Receipt); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx(), c.answerWithin)
	defer cancel()
	x, err := c.poller.Extend(ctx, asked.Receipt)
	if err != nil {
		return err
	}
	c.metrics.given(asked.Receipt, x.Until) // the zero time if it is not held
	answer := extended{Held: x.Held, Until: wire.At(x.Until)}
	for _, content := range x.Cancelled {
		answer.Cancelled = append(answer.Cancelled, wire.Show(content, false))
	}
	return c.answer(http.StatusOK, answer)
}
