package inspector

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// notesPage is about how many notes are read at once. It is small: nobody knows how long their
// contents are.
const notesPage = 10

// notes looks at the notes of a slot: rule NOTE. A note that is left over of a message that is gone
// is no violation: workers sweep it.
func (v *verification) notes(ctx context.Context, t Topic, slot int) error {
	if !t.Notes {
		return nil
	}
	key := protocol.NoteKey(v.i.qualified(t.Name), slot)
	all := v.i.rdb.HScan(ctx, key, 0, "", notesPage).Iterator()
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
		return at(key, v.i.explain(err))
	}
	return nil
}
