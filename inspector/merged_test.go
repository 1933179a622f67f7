package inspector

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

// Who looks at a topic with notes sees how many sends a message stands for.
func TestMerged(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := topicOf(t, message.KindRangeMerge, 64)
		topic.Notes = true
		if _, err := i.Merged(ctx, topic.Name); !errors.Is(err, ErrUnknownTopic) {
			t.Error(err)
		}
		sends := 0
		for n := range 200 {
			for range 1 + n%5 {
				send(t, rdb, topic, message.RangeMerge{Content: fmt.Sprint("m", n), Range: time.Hour})
				sends++
			}
		}
		m, err := i.Merged(ctx, topic.Name)
		must.Do(t, err)
		if m.Messages < 40 || m.Messages > 160 || m.Sends < 2*m.Messages || m.Sends > 4*m.Messages { // 3 sends each, of half of the slots
			t.Errorf("%+v", m)
		}
		must.Do(t, rdb.HSet(ctx, protocol.NoteKey(topic.Name, 0), "odd", "what is that?").Err())
		if again, err := i.Merged(ctx, topic.Name); err != nil || again != m {
			t.Errorf("%+v, %v", again, err)
		}

		few := message.Topic{Name: "few", Kind: message.KindRangeMerge, Slots: 1, Notes: true}
		for range 3 {
			send(t, rdb, few, message.RangeMerge{Content: "m", Range: time.Hour})
		}
		if m, err := i.Merged(ctx, "few"); err != nil || m != (Merged{Messages: 1, Sends: 3}) {
			t.Errorf("%+v, %v", m, err)
		}
		few.Name, few.Notes = "no-notes", false
		send(t, rdb, few, message.RangeMerge{Content: "m", Range: time.Hour})
		if m, err := i.Merged(ctx, "no-notes"); err != nil || m != (Merged{}) {
			t.Errorf("%+v, %v", m, err)
		}

		// A slot that cannot be read hides no other.
		must.Do(t, rdb.Set(ctx, protocol.NoteKey(topic.Name, 0), "a text", 0).Err())
		var partial *PartialError
		if m, err := i.Merged(ctx, topic.Name); !errors.As(err, &partial) || len(partial.Failures) != 1 || m.Messages < 35 {
			t.Errorf("%+v, %v", m, err)
		}
	})
}
