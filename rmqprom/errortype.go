package rmqprom

import (
	"errors"
	"slices"

	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// errorNames are the values of the label error_type, and no others: the words of
// rmq.ErrorType.
var errorNames = [...]string{
	none: "", leaseLost: "lease_lost", closing: "closing", pushedBack: "pushed_back",
	4: "timeout", "cancelled", "panic", "dead", "expired", "invalid", "topic_conflict", "uncertain", "not_replicated", "queue_full", "oom", "_OTHER",
}

// Indexes of errorNames.
const (
	none = iota // it did not fail
	leaseLost
	closing
	pushedBack
	otherError = errorTypes - 1
	errorTypes = len(errorNames)
)

// errorOf is the index of the error type of an item.
func errorOf(item *message.Item) int {
	switch item.What {
	case message.Overtaken:
		return leaseLost
	case message.HandedBack:
		if errors.Is(item.Err, verdict.ErrPushedBack) {
			return pushedBack
		}
		return closing
	case message.Refused, message.Failed, message.Died, message.Dropped:
		if i := slices.Index(errorNames[1:], rmq.ErrorType(item.Err)); i >= 0 {
			return 1 + i
		}
		return otherError
	}
	return none
}
