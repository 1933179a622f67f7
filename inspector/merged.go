package inspector

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol"
)

// Merged says how many sends messages stand for.
type Merged struct {
	Messages int // that were looked at
	Sends    int // that have merged into these
}

// mergedSlots are looked at, and of each about [notesPage] notes.
const mergedSlots = 32

// Merged looks at some messages of a topic with Notes, of slots that lie evenly among all, and returns how many sends have merged
// into them. Redis keeps that of no other topic: there it is zero. Some of the messages may be over since, as notes are
// swept only now and then. With a [PartialError] it is of the slots that could be read.
func (i *Inspector) Merged(ctx context.Context, topic string) (Merged, error) {
	var m Merged
	t, err := i.w.About(ctx, "look how many sends have merged in topic "+topic, topic)
	if err != nil || !t.Notes {
		return m, err
	}
	looks := min(t.Slots, mergedSlots)
	slots := make([]int, looks)
	for n := range slots {
		slots[n] = n * t.Slots / looks
	}
	failed := i.w.Failing()
	parts, _, err := ask.OfSlots(ctx, i.w.Ground, t, slots, func(k protocol.SlotKeys) *redis.ScanCmd {
		return redis.NewScanCmd(ctx, nil, "hscan", k.Note(), 0, "count", ask.NotesPage)
	}, func(k protocol.SlotKeys, cmd *redis.ScanCmd) (Merged, error) {
		found, _, err := cmd.Result()
		return mergedIn(found), ask.At(k.Note(), err)
	})
	for _, p := range parts {
		m.Messages += p.Messages
		m.Sends += p.Sends
	}
	if err := failed.Merge(err); err != nil {
		return m, err
	}
	return m, failed.Err()
}

// mergedIn counts notes: contents, each with its note behind it.
func mergedIn(found []string) (m Merged) {
	for n := 1; n < len(found); n += 2 {
		if note, ok := protocol.ParseNote(found[n]); ok {
			m.Messages++
			m.Sends += int(note.Sends)
		}
	}
	return m
}
