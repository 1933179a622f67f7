package problem

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/poll"
	"github.com/slotmq/go-rmq/producer"
)

// The errors that the library exports have a status that shows a client what to do.
func TestErrorsOfTheLibrary(t *testing.T) {
	t.Parallel()
	for status, all := range map[int][]error{
		404: {inspector.ErrUnknownTopic, poll.ErrUnknownTopic},
		409: {message.ErrTopicConflict, poll.ErrZooKeeper, inspector.ErrNotWaiting, inspector.ErrSeveral},
		422: {poll.ErrReceipt, &message.InvalidError{Field: "Topic.Name", Value: "empty", Limit: "1 to 200 bytes"}},
		429: {producer.ErrQueueFull, poll.ErrTooMany},
		503: {producer.ErrUncertain, poll.ErrUncertain, message.ErrClosed, context.DeadlineExceeded},
	} {
		for _, err := range all {
			p := Of(fmt.Errorf("take: %w", err), false)
			if p.Status != status || types[p.Type].title == "" {
				t.Errorf("%v: %d %s", err, p.Status, p.Type)
			}
			if again := status == 429 || status == 503; again != (p.After > 0) {
				t.Errorf("%v: Retry-After %v", err, p.After)
			}
		}
	}
}

// Where Redis is, is said to no one who asks.
func TestPlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"dial tcp: lookup redis.internal on 10.0.0.2:53: no such host": "dial: lookup: no such host",
		"a: read tcp 10.0.0.1:1->10.0.0.2:6379: i/o timeout":           "a: read: i/o timeout",
		"dial unix /run/redis.sock: connect: no such file":             "dial: connect: no such file",
		"dial tcp [::1]:6379: connect: connection refused":             "dial: connect: connection refused",

		"a: Redis does not answer at 10.0.0.2:6379, 10.0.0.3:6379: i/o timeout": "a: Redis does not answer: i/o timeout",
		"a: Redis does not answer at [::1]:6379 within 6s":                      "a: Redis does not answer within 6s",
	} {
		if got := Plain(errors.New(text)); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
