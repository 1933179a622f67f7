package planner

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/record"
)

// journal tells the journal, if there is one, what was sent. The numbers of the slots are read behind
// all of it: see record.Sends.
func (p *Planner) journal(ctx context.Context, sent []*firing) {
	if p.Journal == nil || len(sent) == 0 {
		return
	}
	cmds := make([]redis.Cmder, len(sent))
	for i, f := range sent {
		cmds[i] = protocol.NumberCmd(ctx, f.topic.Qualified, f.slot)
	}
	p.Scripts.Exec(ctx, cmds...)
	now, all := time.Now(), make([]*record.Sends, len(sent))
	for i, f := range sent {
		item := record.SentItem{Content: f.content, Score: f.score, Keeps: f.merged, Merged: f.merged}
		all[i] = &record.Sends{
			Topic: f.topic.Topic, Slot: f.slot, At: now, Items: []record.SentItem{item},
			Number: protocol.NumberOf(ctx, p.Redis, f.topic.Qualified, f.slot, cmds[i].(*redis.StringCmd), record.UnknownNumber),
		}
		all[i].Topic.Name = f.topic.Qualified
	}
	p.Journal.Sent(all, func(error) {})
}
