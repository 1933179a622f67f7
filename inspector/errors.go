package inspector

import (
	"context"
	"errors"
	"fmt"
)

// ErrUnknownTopic is returned for a topic that no program has sent to or listened to. The
// error that wraps it names the topic, and some of those that exist.
var ErrUnknownTopic = errors.New("no such topic")

// ErrNotWaiting is returned by Reschedule for a message that has no time or priority to
// change. The error that wraps it says where the message is instead.
var ErrNotWaiting = errors.New("it does not wait")

// ErrSeveral is returned by Cancel and Reschedule for a message that is in several slots: it was sent with
// different bases. The error that wraps it names the slots. Nothing is changed.
var ErrSeveral = errors.New("it is in several slots")

// given is the error of a call without a context.
func given(ctx context.Context, operation string) error {
	if ctx == nil {
		return fmt.Errorf("%s: ctx is nil", operation)
	}
	return nil
}
