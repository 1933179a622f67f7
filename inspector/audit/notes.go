package audit

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol"
)

// notes looks at the notes of a slot: rule NOTE. A note that is left over of a message that is gone
// is no violation: workers sweep it.
func (v *verification) notes(ctx context.Context, t ask.Topic, slot int) error {
	if !t.Notes {
		return nil
	}
	key := protocol.NoteKey(v.i.Qualified(t.Name), slot)
	all := v.i.Redis.HScan(ctx, key, 0, "", ask.NotesPage).Iterator()
	for all.Next(ctx) {
		content := all.Val()
		if !all.Next(ctx) {
			break
		}
		if n, ok := protocol.ParseNote(all.Val()); !ok || n.Sends < 1 {
			v.add(Violation{Topic: t.Name, Slot: slot, Rule: "NOTE", Key: key, Content: content, Detail: fmt.Sprintf("it is %.80q", all.Val())})
		}
	}
	if err := all.Err(); err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") { // else it was reported
		return ask.At(key, v.i.Explain(err))
	}
	return nil
}
