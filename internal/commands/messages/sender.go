package messages

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/limits"
	"github.com/slotmq/go-rmq/internal/story"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

// Sender sends to a topic, and tells of the receipt.
type Sender struct {
	*frame.Call
	To message.Topic
}

// Send sends a message, which is the draft in a topic of its kind.
func (s *Sender) Send(ctx context.Context, p wire.Draft, m message.Message) error {
	to, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer to.Close(context.WithoutCancel(ctx)) // when all sends have been answered
	receipt, err := to.Send(ctx, s.To, m)
	if err != nil {
		return err
	}
	return s.report(ctx, p, receipt)
}

// longestContent is the limit of all producers. A program has a MaxContent of its own, which
// is not known here, and rmq must accept every content that a program may have sent.
const longestContent = limits.ContentBytes

func (s *Sender) open(ctx context.Context) (*producer.Producer, error) {
	return s.Producer(ctx, producer.Config{ExactReceipts: true, MaxContent: longestContent, Logger: zap.NewNop()})
}

type receiptJSON struct {
	Topic string `json:"topic"`
	wire.Shown
	wire.Receipt
	Priority int64 `json:"priority,omitempty"`
}

// report prints the receipt.
func (s *Sender) report(ctx context.Context, p wire.Draft, r producer.Receipt) error {
	j := receiptJSON{Topic: s.To.Name, Shown: s.Shown(p.Content), Receipt: wire.ReceiptOf(r)}
	duplicate := r.Outcome == producer.Duplicate // then nothing was stored
	switch k := s.To.Kind; {
	case !k.Timed():
		if !duplicate {
			j.Priority = *p.Priority
		}
	case k.FirstWins() && r.Outcome == producer.Merged && !p.Extend: // it kept its first time
		j.Due = wire.At(s.dueOf(ctx, p, r.Slot))
	}
	if s.JSON {
		return s.Object(j)
	}
	line := fmt.Sprintf("%s in slot %d of %s", r.Outcome, r.Slot, words.Legible(s.To.Name))
	switch {
	case duplicate:
		line += ": an equal one was sent within its time, so this one was not"
	case j.Priority > 0:
		line += fmt.Sprintf(", priority %d", j.Priority)
	case j.Past:
		line += fmt.Sprintf(", due now, past its time (%s)", frame.Moment(j.Due.Time))
	case !j.Due.IsZero():
		in := "due" // if the time cannot be read; the message was sent all the same
		if now, err := s.Time(ctx); err == nil {
			in = story.Until(j.Due.Time, now)
		}
		line += fmt.Sprintf(", %s (%s)", in, frame.Moment(j.Due.Time))
	}
	s.Say("%s", line)
	return nil
}

// dueOf is when a message is due that waits, and zero if it has been taken since.
func (s *Sender) dueOf(ctx context.Context, p wire.Draft, slot int) time.Time {
	found, err := s.Inspector.Explain(ctx, s.To.Name, p.Content, p.Basis)
	if err != nil {
		return time.Time{} // it was sent all the same
	}
	for _, e := range found {
		if e.Slot == slot && e.Waiting != nil {
			return e.Waiting.Due
		}
	}
	return time.Time{}
}
