package gateway

import (
	"context"
	"fmt"
	"testing"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/poll"
	"github.com/slotmq/go-rmq/producer"
)

// The errors that the library exports have a status by which a client knows what to do about them.
func TestErrorsOfTheLibrary(t *testing.T) {
	t.Parallel()
	g := &Gateway{closing: context.Background()}
	for status, all := range map[int][]error{
		404: {inspector.ErrUnknownTopic, poll.ErrUnknownTopic},
		409: {message.ErrTopicConflict, poll.ErrZooKeeper, inspector.ErrNotWaiting, inspector.ErrSeveral},
		422: {poll.ErrReceipt, &message.InvalidError{Field: "Topic.Name", Value: "empty", Limit: "1 to 200 bytes"}},
		429: {producer.ErrQueueFull, poll.ErrTooMany},
		503: {producer.ErrUncertain, poll.ErrUncertain, message.ErrClosed, context.DeadlineExceeded},
	} {
		for _, err := range all {
			p := (&call{Gateway: g}).problem(fmt.Errorf("take: %w", err))
			if p.Status != status || titles[p.Type] == "" {
				t.Errorf("%v: %d %s", err, p.Status, p.Type)
			}
			if again := status == 429 || status == 503; again != (p.after > 0) {
				t.Errorf("%v: Retry-After %v", err, p.after)
			}
		}
	}
}
