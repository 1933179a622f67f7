package inspector

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/hash"
)

// Unique returns until when a message that is sent as a unique one is a duplicate, for each slot that
// says so, whatever has become of the one before: also if it was handled. Without a basis it looks in all
// slots. What is over, by the clock of Redis, may be among the answers, or gone already.
func (i *Inspector) Unique(ctx context.Context, topic, content, basis string) (until map[int]time.Time, err error) {
	t, err := i.w.About(ctx, "look for unique messages of topic "+topic, topic)
	if err != nil {
		return nil, err
	}
	which := ask.AllSlots(t)
	if basis != "" {
		which = []int{hash.Slot(basis, t.Slots)}
	}
	return uniqueIn(ctx, i, t, content, which)
}

// uniqueIn looks in some slots.
func uniqueIn(ctx context.Context, i *Inspector, t Topic, content string, which []int) (map[int]time.Time, error) {
	times, read, err := timesIn(ctx, i, t, which, content, protocol.SlotKeys.Seen)
	until := map[int]time.Time{}
	for n, slot := range read {
		if !times[n].IsZero() {
			until[slot] = times[n]
		}
	}
	return until, err
}
