package who

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol"
)

// Running is a handler that has run for 5 s or more: its worker says so a few seconds later, and until a minute after it was
// last seen alive. Of handlers that end before nothing is known.
type Running struct {
	Topic   string
	Slot    int
	Worker  string
	Since   time.Time
	Timeout time.Duration // after which the handler's context is cancelled
	Content string        // of the message that it handles, or the first of several; 200 bytes at most
	Count   int           // how many messages of the batch are handled, in one call or at the same time

	fence int64
	has   func(content string) bool // surely one of them
	hide  bool                      // texts do not name it
}

// Handles reports whether a message is surely one of those that it handles.
func (r *Running) Handles(content string) bool { return r.has(content) }

// Whole reports whether Content is all of it.
func (r *Running) Whole() bool { return r.has(r.Content) }

// Running are the handlers that run for long at topics, the longest first.
func (w *Who) Running(ctx context.Context, topics []ask.Topic) (map[string][]Running, error) {
	listed, err := w.listed(ctx, topics, "handlers that run for long", protocol.RunningKey)
	found := map[string][]Running{}
	for topic, all := range listed {
		for text := range all {
			r, ok := protocol.ParseRunning(text)
			if !ok { // of another program
				continue
			}
			found[topic] = append(found[topic], Running{topic, r.Slot, r.Worker, r.Since, r.Timeout, r.Content, r.Count, r.Fence, r.Has, w.Hide})
		}
		slices.SortFunc(found[topic], func(a, b Running) int {
			return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.Worker, b.Worker))
		})
	}
	return found, err
}

// RunningAt is what runs for long of a batch in flight, or nil.
func RunningAt(all []Running, slot int, worker string, fence int64) *Running {
	n := slices.IndexFunc(all, func(r Running) bool { return r.Slot == slot && r.Worker == worker && r.fence == fence })
	if n < 0 {
		return nil
	}
	return &all[n]
}

// What says in words what the handler has.
func What(r *Running) string {
	text := strconv.QuoteToGraphic(r.Content)
	if r.hide {
		text = "a message"
	}
	if r.Count > 1 {
		text += fmt.Sprintf(" and %d more", r.Count-1)
	}
	return text
}
