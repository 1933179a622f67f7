package gateway

import (
	"net/http"

	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/producer"
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
	Error *problem `json:"error,omitempty"`
}

// send sends one message or many, or a stream of them: POST /v1/topics/{topic}/messages.
func (c *call) send() error {
	kind, err := c.bodyType(jsonType, streamType)
	if err != nil {
		return err
	}
	if kind == streamType {
		return c.sendStream()
	}
	text, err := c.body()
	if err != nil {
		return err
	}
	asked, err := readSending(text)
	if err != nil {
		return err
	}
	if err := c.deliver(asked.defining, asked.items); err != nil {
		return err
	}
	if asked.many {
		return c.answerMany(asked.items)
	}
	one := &asked.items[0]
	if one.err != nil {
		return one.err
	}
	status := http.StatusOK
	if one.receipt.Outcome == producer.Stored {
		status = http.StatusCreated
	}
	return c.answer(status, wire.ReceiptOf(one.receipt))
}

func (c *call) answerMany(items []item) error {
	all := sent{Results: make([]outcome, len(items))}
	receipts := make([]wire.Receipt, len(items))
	var same *problem // why all failed that could be sent
	for n := range items {
		x := &items[n]
		if x.err != nil {
			p := c.problem(x.err)
			all.Results[n].Error = p.full()
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
	if all.Failed == len(items) && same != nil && same.Type != "" {
		return same
	}
	return c.answer(http.StatusOK, all)
}

// both is the problem that two messages have, uncertain if one of them is. It has no type if they differ.
func both(a, b *problem) *problem {
	x := *b
	switch {
	case a == nil:
	case a.Status != b.Status || a.Type != b.Type:
		x = problem{}
	case a.Uncertain:
		x.Uncertain = true
	}
	return &x
}
