package consumer

import (
	"errors"

	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// ErrExpired is what observers see of a message that came too late: later than MaxLate, or
// when its time to live was over. No handler has seen it.
var ErrExpired = verdict.ErrExpired

var (
	errRunning     = errors.New("it has been started already")
	errNilContext  = errors.New("ctx is nil")
	errNilListener = &message.InvalidError{Field: "the listener", Value: "nil", Limit: "what handles the messages"}
	errNilRedis    = errors.New("the Redis client is nil")
)
