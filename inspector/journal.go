package inspector

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/message"
)

// A journal, if there is one, is told what an inspector changes. What is not told, because an answer
// is lost or another program does it, the journal finds when it compares itself with Redis.

// journalGone tells that messages are gone, and when that began: what is sent behind it is not meant.
func (i *Inspector) journalGone(t Topic, slot int, begun time.Time, what message.What, contents ...string) {
	if i.cfg.Journal == nil || len(contents) == 0 {
		return
	}
	e := &message.Event{Topic: t.Topic, Slot: slot, At: begun}
	e.Topic.Name = i.qualified(t.Name)
	for _, content := range contents {
		e.Items = append(e.Items, message.Item{What: what, Content: content})
	}
	i.cfg.Journal.Observe(e)
}

// journalMoved tells that a message waits as e says. A retry of a priority topic has no priority to
// be told, and keeps the one it was sent with.
func (i *Inspector) journalMoved(ctx context.Context, t Topic, e Entry) {
	switch {
	case e.Priority > 0:
		i.journalSent(ctx, t, e.Slot, []message.SentItem{{Content: e.Content, Score: e.Priority}})
	case t.Kind.Timed():
		i.journalSent(ctx, t, e.Slot, []message.SentItem{{Content: e.Content, Score: e.Due.UnixMilli()}})
	}
}

// journalSent tells what waits in a slot like something that was sent just now.
func (i *Inspector) journalSent(ctx context.Context, t Topic, slot int, items []message.SentItem) {
	if i.cfg.Journal == nil || len(items) == 0 {
		return
	}
	number := protocol.NumberCmd(ctx, i.qualified(t.Name), slot)
	script.Exec(ctx, i.rdb, number)
	s := &message.Sends{Topic: t.Topic, Slot: slot, At: time.Now(), Items: items, Number: protocol.NumberOf(ctx, i.rdb, i.qualified(t.Name), slot, number, message.UnknownNumber)}
	s.Topic.Name = i.qualified(t.Name)
	i.cfg.Journal.Sent([]*message.Sends{s}, func(error) {})
}

// journalRequeued tells which dead messages wait again. Their priorities are read behind it; one that a
// worker has taken since has the one given, or the smallest.
func (i *Inspector) journalRequeued(ctx context.Context, t Topic, priority int64) func(*inSlot, []byhand.DeadResult) {
	if i.cfg.Journal == nil {
		return nil
	}
	return func(s *inSlot, results []byhand.DeadResult) {
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
		script.Exec(ctx, i.rdb, scores)
		items := make([]message.SentItem, len(contents))
		for n, content := range contents {
			items[n] = message.SentItem{Content: content, Score: time.Now().UnixMilli()}
			if t.Kind.Timed() {
				continue
			}
			items[n].Score = max(priority, message.MaxRetries+1)
			if at := scores.Val(); n < len(at) && at[n] > message.MaxRetries {
				items[n].Score = int64(at[n])
			}
		}
		i.journalSent(ctx, t, s.slot, items)
	}
}

// journalDeleted tells which dead messages are gone.
func (i *Inspector) journalDeleted(t Topic) func(*inSlot, []byhand.DeadResult) {
	if i.cfg.Journal == nil {
		return nil
	}
	return func(s *inSlot, results []byhand.DeadResult) {
		i.journalGone(t, s.slot, time.Now(), message.Deleted, s.became(byhand.Deleted, results)...)
	}
}

// became returns the contents with a result.
func (s *inSlot) became(what byhand.DeadResult, results []byhand.DeadResult) (contents []string) {
	for n, r := range results {
		if r == what {
			contents = append(contents, s.dead[n].Content)
		}
	}
	return contents
}
