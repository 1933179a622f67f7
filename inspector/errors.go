package inspector

import (
	"errors"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
)

// ErrUnknownTopic is returned for a topic that no program has sent to or listened to. The
// error that wraps it names the topic, and some of those that exist.
var ErrUnknownTopic = ask.ErrUnknownTopic

// ErrNotWaiting is returned by Reschedule for a message that has no time or priority to
// change. The error that wraps it says where the message is instead.
var ErrNotWaiting = errors.New("it does not wait")

// ErrSeveral is returned by Cancel and Reschedule for a message that is in several slots: it was sent with
// different bases. The error that wraps it names the slots. Nothing is changed.
var ErrSeveral = errors.New("it is in several slots")
