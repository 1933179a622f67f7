package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// sent is the answer about many messages: what became of each, in their order.
type sent struct {
	Results    []outcome `json:"results"`
	Stored     int       `json:"stored"`
	Merged     int       `json:"merged"`
	Duplicates int       `json:"duplicates"`
	Failed     int       `json:"failed"`
}

// outcome is what became of one of them: a receipt, or a problem.
type outcome struct {
	Line int `json:"line,omitempty"` // in a stream
	*wire.Receipt
	Error *problem.Problem `json:"error,omitempty"`
}

// sends are the messages that come.
type sends struct {
	producer *producer.Producer
	defined  *definitions
}

// send sends one message or many, or a stream of them: POST /v1/topics/{topic}/messages.
func (s *sends) send(c *call) error {
	kind, err := request.Type(c.r.Header.Get("Content-Type"), request.JSON, request.Stream)
	if err != nil {
		return err
	}
	if kind == request.Stream {
		return s.sendStream(c)
	}
	text, err := c.body()
	if err != nil {
		return err
	}
	asked, err := request.ReadSending(text)
	if err != nil {
		return err
	}
	all := make([]fate, len(asked.Messages))
	if err := s.deliver(c, asked.Topic, asked.Messages, all); err != nil {
		return err
	}
	if asked.Many {
		return answerMany(c, all)
	}
	if all[0].err != nil {
		return all[0].err
	}
	status := http.StatusOK
	if all[0].receipt.Outcome == producer.Stored {
		status = http.StatusCreated
	}
	return c.answer(status, wire.ReceiptOf(all[0].receipt))
}

func answerMany(c *call, fates []fate) error {
	all := sent{Results: make([]outcome, len(fates))}
	receipts := make([]wire.Receipt, len(fates))
	var same *problem.Problem // why all failed that could be sent
	for n := range fates {
		x := &fates[n]
		if x.err != nil {
			p := c.problem(x.err)
			all.Results[n].Error = p.Full()
			all.Failed++
			if !x.wrong {
				same = both(same, p)
			}
			continue
		}
		receipts[n] = wire.ReceiptOf(x.receipt)
		all.Results[n].Receipt = &receipts[n]
		switch x.receipt.Outcome {
		case producer.Merged:
			all.Merged++
		case producer.Duplicate:
			all.Duplicates++
		default:
			all.Stored++
		}
	}
	if all.Failed == len(fates) && same != nil && same.Type != "" {
		return same
	}
	return c.answer(http.StatusOK, all)
}

// both is the problem that two messages have, uncertain if one of them is. It has no type if they differ.
func both(a, b *problem.Problem) *problem.Problem {
	x := *b
	switch {
	case a == nil:
	case a.Status != b.Status || a.Type != b.Type:
		x = problem.Problem{}
	case a.Uncertain:
		x.Uncertain = true
	}
	return &x
}

// fate is what becomes of a message.
type fate struct {
	receipt producer.Receipt
	err     error
	wrong   bool // it was not tried to send it: it is not valid
}

// deliver sends messages together, and notes what becomes of each. The error is one of the request as a whole.
func (s *sends) deliver(c *call, asked request.Topic, all []request.Message, fates []fate) error {
	ctx, cancel := context.WithTimeout(c.ctx(), c.answerWithin)
	defer cancel()
	for again := true; ; again = false {
		t, _, err := s.defined.of(c.ctx(), c.topic(), asked)
		if err != nil {
			return err
		}
		err = s.deliverTo(ctx, t, all, fates, c.cfg.MaxContent)
		if !errors.Is(err, message.ErrTopicConflict) || !again {
			return err
		}
		s.defined.forget(t.Name) // somebody has deleted it, and defined it differently
	}
}

func (s *sends) deliverTo(ctx context.Context, t message.Topic, all []request.Message, fates []fate, maxContent int) error {
	messages, which := make([]message.Message, 0, len(all)), make([]*fate, 0, len(all))
	for n := range all {
		asked, x := &all[n], &fates[n]
		var m message.Message
		if x.err = asked.Err; x.err == nil {
			m, x.err = asked.Draft.Message(t)
		}
		if size := len(asked.Draft.Content); x.err == nil && size > maxContent { // the producer would refuse all of them
			x.err = problem.Invalid("content", fmt.Sprintf("%d bytes", size), fmt.Sprintf("1 to %d bytes", maxContent))
		}
		if x.wrong = x.err != nil; !x.wrong {
			messages, which = append(messages, m), append(which, x)
		}
	}
	if len(messages) == 0 {
		return nil
	}
	receipts, err := s.producer.SendBatch(ctx, t, messages)
	var some *message.BatchError
	switch {
	case err == nil || errors.As(err, &some):
		for n, x := range which {
			x.receipt = receipts[n]
		}
		if some != nil {
			for n, index := range some.Indexes {
				which[index].err = some.Errs[n]
			}
		}
	case errors.Is(err, message.ErrInvalid) && len(messages) > 1:
		// One is over before it is due, or too late, by the clock of Redis, so none was sent. One by one, the others are.
		for n, x := range which {
			x.receipt, x.err = s.producer.Send(ctx, t, messages[n])
			x.wrong = errors.Is(x.err, message.ErrInvalid)
		}
	default:
		return err
	}
	return nil
}
