package rmq

import (
	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

// InvalidError says what was refused. It matches ErrInvalid.
//
//	type InvalidError struct {
//		Field string // such as "Priority" or "Topic.Slots"
//		Value string // what you passed
//		Limit string // what it must be
//	}
type InvalidError = message.InvalidError

// Errors of every call, to be compared by errors.Is.
var (
	// ErrInvalid: something that you passed is refused. Nothing was stored.
	ErrInvalid = message.ErrInvalid

	// ErrTopicConflict: the topic has another definition already.
	ErrTopicConflict = message.ErrTopicConflict

	// ErrClosed: the client was closed before.
	ErrClosed = message.ErrClosed
)

// Errors of Send and SendBatch.
var (
	// ErrUncertain: the message may be stored or not. To send it again is safe: it merges.
	ErrUncertain = producer.ErrUncertain

	// ErrNotReplicated: the message is stored, but fewer replicas than Durability asks for
	// have confirmed it in time.
	ErrNotReplicated = producer.ErrNotReplicated

	// ErrNotJournaled: the message is stored, and the Journal could not be made to have it in
	// time.
	ErrNotJournaled = message.ErrNotJournaled

	// ErrQueueFull: the slot holds Config.MaxWaiting messages. Nothing was stored.
	ErrQueueFull = producer.ErrQueueFull

	// ErrPast: the time of the message has passed, with Config.RefusePast, or by more than
	// the listener's MaxLate.
	ErrPast = producer.ErrPast
)

// Errors of Cancel, Reschedule and Explain.
var (
	// ErrUnknownTopic: no program has sent to the topic or listened to it.
	ErrUnknownTopic = inspector.ErrUnknownTopic

	// ErrNotWaiting: Reschedule found no time or priority to change. The error says where
	// the message is instead.
	ErrNotWaiting = inspector.ErrNotWaiting
)

// Causes why the context of a handler was cancelled: see context.Cause.
var (
	// ErrClosing: Close does not wait any longer. An error that you return now spends no
	// delivery.
	ErrClosing = verdict.ErrClosing

	// ErrLeaseLost: the worker could not keep the message. Another worker may get it.
	ErrLeaseLost = verdict.ErrLeaseLost

	// ErrCancelled: the message was cancelled by Client.Cancel. Whatever error you return,
	// it does not come again.
	ErrCancelled = verdict.ErrCancelled

	// ErrTimeout: the handler has run for longer than its Timeout.
	ErrTimeout = verdict.ErrTimeout
)
