package steps

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/message"
)

// A journal, if there is one, is told what an inspector changes. What is not told, because an answer
// is lost or another program does it, the journal finds when it compares itself with Redis.

// TellGone tells that messages are gone, and when that began: what is sent behind it is not meant.
func (h *Steps) TellGone(t ask.Topic, slot int, begun time.Time, what message.What, contents ...string) {
	if h.Journal == nil || len(contents) == 0 {
		return
	}
	e := &message.Event{Topic: t.Topic, Slot: slot, At: begun}
	e.Topic.Name = h.Qualified(t.Name)
	for _, content := range contents {
		e.Items = append(e.Items, message.Item{What: what, Content: content})
	}
	h.Journal.Observe(e)
}

// TellSent tells what waits in a slot like something that was sent just now.
func (h *Steps) TellSent(ctx context.Context, t ask.Topic, slot int, items []record.SentItem) {
	if h.Journal == nil || len(items) == 0 {
		return
	}
	number := protocol.NumberCmd(ctx, h.Qualified(t.Name), slot)
	script.Exec(ctx, h.Redis, number)
	s := &record.Sends{Topic: t.Topic, Slot: slot, At: time.Now(), Items: items, Number: protocol.NumberOf(ctx, h.Redis, h.Qualified(t.Name), slot, number, record.UnknownNumber)}
	s.Topic.Name = h.Qualified(t.Name)
	h.Journal.Sent([]*record.Sends{s}, func(error) {})
}

// TellRequeued tells which dead messages wait again. Their priorities are read behind it; one that a
// worker has taken since has the one given, or the smallest.
func (h *Steps) TellRequeued(ctx context.Context, t ask.Topic, priority int64) func(*InSlot, []byhand.DeadResult) {
	if h.Journal == nil {
		return nil
	}
	return func(s *InSlot, results []byhand.DeadResult) {
		ctx := context.WithoutCancel(ctx)
		contents := s.became(byhand.Stored, results)
		if len(contents) == 0 {
			return
		}
		args := []any{"zmscore", s.keys.Store}
		for _, content := range contents {
			args = append(args, content)
		}
		scores := redis.NewFloatSliceCmd(ctx, args...)
		script.Exec(ctx, h.Redis, scores)
		items := make([]record.SentItem, len(contents))
		for n, content := range contents {
			items[n] = record.SentItem{Content: content, Score: time.Now().UnixMilli()}
			if t.Kind.Timed() {
				continue
			}
			items[n].Score = max(priority, message.MaxRetries+1)
			if at := scores.Val(); n < len(at) && at[n] > message.MaxRetries {
				items[n].Score = int64(at[n])
			}
		}
		h.TellSent(ctx, t, s.Slot, items)
	}
}

// TellDeleted tells which dead messages are gone.
func (h *Steps) TellDeleted(t ask.Topic) func(*InSlot, []byhand.DeadResult) {
	if h.Journal == nil {
		return nil
	}
	return func(s *InSlot, results []byhand.DeadResult) {
		h.TellGone(t, s.Slot, time.Now(), message.Deleted, s.became(byhand.Deleted, results)...)
	}
}

// became returns the contents with a result.
func (s *InSlot) became(what byhand.DeadResult, results []byhand.DeadResult) (contents []string) {
	for n, r := range results {
		if r == what {
			contents = append(contents, s.dead[n].Content)
		}
	}
	return contents
}
