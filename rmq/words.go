package rmq

import (
	"time"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

// The words of package message.
type (
	Topic      = message.Topic
	Kind       = message.Kind
	Message    = message.Message
	RangeMerge = message.RangeMerge
	Priority   = message.Priority
	FixedTime  = message.FixedTime

	// InvalidError names the field that was refused.
	InvalidError = message.InvalidError
)

// The kinds of topics, and the number of retries.
const (
	KindRangeMerge = message.KindRangeMerge
	KindPriority   = message.KindPriority
	KindFixedTime  = message.KindFixedTime
	MaxRetries     = message.MaxRetries
)

// The words of package producer.
type (
	Receipt    = producer.Receipt
	Outcome    = producer.Outcome
	Durability = producer.Durability
	BatchError = producer.BatchError
)

// The outcomes of a send.
const (
	Accepted = producer.Accepted
	Stored   = producer.Stored
	Merged   = producer.Merged
)

// The words of package consumer.
type (
	MessageListener = consumer.MessageListener
	ListenerFunc    = consumer.ListenerFunc
	ListenOptions   = consumer.ListenOptions
	Delivery        = consumer.Delivery
	Middleware      = consumer.Middleware
	Backoff         = consumer.Backoff
)

// The errors to look for with errors.Is.
var (
	ErrInvalid       = message.ErrInvalid
	ErrTopicConflict = message.ErrTopicConflict
	ErrClosed        = message.ErrClosed
	ErrUncertain     = producer.ErrUncertain
	ErrNotReplicated = producer.ErrNotReplicated
	ErrQueueFull     = producer.ErrQueueFull
	ErrPast          = producer.ErrPast
	ErrRunning       = consumer.ErrRunning
	ErrClosing       = consumer.ErrClosing
	ErrLeaseLost     = consumer.ErrLeaseLost
	ErrTimeout       = consumer.ErrTimeout
)

// Dead marks a failure that no retry can mend: the message is dead at once.
func Dead(err error) error { return consumer.Dead(err) }

// RetryAfter marks a failure that is worth a retry after d rather than after
// the back-off.
func RetryAfter(d time.Duration, err error) error { return consumer.RetryAfter(d, err) }

// Exponential doubles the waiting from base up to most, with jitter.
func Exponential(base, most time.Duration) Backoff { return consumer.Exponential(base, most) }

// Schedule waits d[0] for the first retry, d[1] for the second, and the last
// of them for all others.
func Schedule(d ...time.Duration) Backoff { return consumer.Schedule(d...) }
