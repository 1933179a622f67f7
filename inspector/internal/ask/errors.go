package ask

import (
	"context"
	"errors"
	"fmt"
)

// ErrUnknownTopic is returned for a topic that no program has sent to or listened to. The
// error that wraps it names the topic, and some of those that exist.
var ErrUnknownTopic = errors.New("no such topic")

// Given is the error of a call without a context.
func Given(ctx context.Context, operation string) error {
	if ctx == nil {
		return fmt.Errorf("%s: ctx is nil", operation)
	}
	return nil
}
