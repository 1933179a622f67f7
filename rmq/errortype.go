package rmq

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
)

// errorTypes are the words of ErrorType. The first that fits counts: an error may hold several.
var errorTypes = []struct {
	err  error
	word string
}{
	{ErrCancelled, "cancelled"},
	{ErrClosing, "closing"},
	{ErrClosed, "closing"},
	{verdict.ErrDead, "dead"},
	{verdict.ErrPanic, "panic"},
	{consumer.ErrExpired, "expired"},
	{verdict.ErrPushedBack, "pushed_back"},
	{ErrLeaseLost, "lease_lost"},
	{ErrTimeout, "timeout"},
	{ErrUncertain, "uncertain"}, // before the time-out that is often its cause
	{ErrNotReplicated, "not_replicated"},
	{ErrNotJournaled, "not_journaled"},
	{ErrQueueFull, "queue_full"},
	{ErrTopicConflict, "topic_conflict"},
	{ErrInvalid, "invalid"}, // and ErrPast
	{context.DeadlineExceeded, "timeout"},
}

// ErrorType is the class of an error of this package in one word, as metrics and traces have
// it in error.type: cancelled, closing, dead, panic, expired, pushed_back, lease_lost, timeout,
// uncertain, not_replicated, not_journaled, queue_full, topic_conflict, invalid, oom, or _OTHER for
// every other error. It is empty for nil.
func ErrorType(err error) (word string) {
	const other = "_OTHER"
	if err == nil {
		return ""
	}
	defer func() { // an error of a handler may have methods that panic
		if recover() != nil {
			word = other
		}
	}()
	for _, t := range errorTypes {
		if errors.Is(err, t.err) {
			return t.word
		}
	}
	var reply redis.Error
	if errors.As(err, &reply) && strings.HasPrefix(reply.Error(), "OOM ") {
		return "oom"
	}
	return other
}
