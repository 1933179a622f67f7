package rmq

import (
	"time"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
)

// MessageListener handles the messages of a topic.
//
//	type MessageListener interface {
//		OnMessage(ctx context.Context, d *Delivery) error
//	}
//
// Return nil when the message is done. After an error or a panic it comes again when its
// Backoff is over, up to 16 times; then it is dead. Dead, RetryAfter, Later and Pushback return
// errors that say otherwise.
//
// Each message is delivered at least once: be ready to see one twice.
type MessageListener = consumer.MessageListener

// ListenerFunc makes a function a MessageListener.
//
//	type ListenerFunc func(ctx context.Context, d *Delivery) error
type ListenerFunc = consumer.ListenerFunc

// Delivery is a message on its way to your listener. You may keep it: it is not used again.
//
//	type Delivery struct {
//		Topic   Topic
//		Slot    int
//		Content string
//		Attempt int   // 1 to 17
//		Last    bool  // it is dead if this delivery fails: see MaxAttempts
//		Fence   int64 // grows within the slot: lets your database refuse a worker that was overtaken
//
//		Priority int64     // of a Priority message; 0 if it is not known
//		Due      time.Time // with ListenOptions.Due: when it was due, on its first delivery
//
//		LastError    string    // why the delivery before this one failed
//		FirstFailure time.Time // when the first of them failed
//	}
//
// In a topic with Notes it also tells of the sends that merged into it:
//
//	func (d *Delivery) Sends() int                 // how many there were; 0: nothing is known
//	func (d *Delivery) FirstSent() time.Time       // by the clock of Redis
//	func (d *Delivery) LastSent() time.Time
//	func (d *Delivery) Expires() time.Time         // when its time to live ends; zero: it has none
//	func (d *Delivery) Headers() map[string]string // of the newest send that had any
type Delivery = consumer.Delivery

// ListenOptions are what one topic has otherwise than the Config. A zero field leaves it
// as it is there.
//
//	type ListenOptions struct {
//		Timeout        time.Duration // of a handler
//		Backoff        Backoff       // between deliveries of a message that fails
//		MaxAttempts    int           // deliveries, after which one that fails is dead
//		SafetyLook     time.Duration // how often idle slots are looked at
//		Concurrency    int           // handlers of this topic at once
//		Rate           Rate          // messages of this topic that all workers begin in a second
//		NoBreaker      bool          // try every message when it is due, also while all of them fail
//		Flow           Flow          // fewer handlers where more would not handle more
//		Parallel       bool          // messages of one slot may be handled at once
//		Due            bool          // fill in Delivery.Due
//		MaxLate        time.Duration // a message that is later than this is not handled
//		Expired        Expired       // what becomes of it, or when its TTL is over: it is dead, or with ExpiredDrop gone
//		DeadTopic      Topic         // where messages that died are sent, too
//	}
type ListenOptions = consumer.ListenOptions

// Rate is how many messages of a topic all its workers begin together, however many workers
// there are. Let all of them have the same.
//
//	type Rate struct {
//		PerSecond float64 // from 0.001, which is 3.6 an hour, to 1000000; 0: any number
//		Burst     int     // at once after a time with less to do, to 1000000; 0: PerSecond / 20, at least 1
//	}
//
// With 64 slots and 0.1 a second a slot waits for up to 11 minutes: (slots + Burst) / PerSecond
// seconds. The command rmq limit sets a rate for some time, while your program runs.
type Rate = consumer.Rate

// Flow bounds how many handlers of a topic run at once in a worker, which finds out by itself
// how many are of use: where what is behind them is the bottleneck, fewer of them run.
//
//	type Flow struct {
//		Min int // handlers at the least, from 1 to Concurrency; 0: 1
//		Max int // handlers at the most, from Min to Concurrency; 0: Concurrency
//	}
type Flow = consumer.Flow

// ExpiredDrop is for ListenOptions.Expired: a message that comes too late is gone, and the log and the
// observers say so. Otherwise it is dead, and the reason says how late it was.
const ExpiredDrop = consumer.ExpiredDrop

// BatchFunc makes a function a listener that handles messages of a topic together: see Client.ListenBatch.
//
//	type BatchFunc func(ctx context.Context, b *Batch) error
//
// Name the messages that fail, by Fail, Dead, RetryAfter and Later of the Batch. What you return is
// about all others: nil means done; after an error or a panic they come again. A message
// that comes again is alone in its Batch.
type BatchFunc = consumer.BatchFunc

// Batch is the messages of one call of a BatchFunc: first deliveries, or one retry
// alone.
//
//	type Batch struct {
//		Topic    Topic
//		Slot     int
//		Attempt  int   // of each message
//		Fence    int64 // of each message
//		Messages []*Delivery // leave the slice as it is
//	}
//
//	func (b *Batch) Fail(i int, err error)                        // as if you had returned err for it
//	func (b *Batch) Dead(i int, err error)                        // no retry can mend it
//	func (b *Batch) RetryAfter(i int, d time.Duration, err error) // it comes again after d
//	func (b *Batch) Later(i int, d time.Duration)                 // the same; this delivery does not count
//
// Call them for message i if something else is to become of it than your return value says.
// Several goroutines may call them, until your listener returns.
//
// Outcome is consumer.OutcomeOf for message i, after such calls. It is for a BatchMiddleware, with what
// it was given and what the listener inside has returned.
//
//	func (b *Batch) Outcome(ctx context.Context, i int, err error) What
type Batch = consumer.Batch

// BatchOptions are how a topic is listened to by ListenBatch. What its ListenOptions say of a
// handler is about a call of the BatchFunc.
//
//	type BatchOptions struct {
//		ListenOptions // but for Parallel, which is refused
//
//		Most    int           // messages in one call at the most: 1 to 256, or 0 for 256
//		Gather  time.Duration // how long a slot waits for more messages before a call
//		SameDue time.Duration // messages of one call were due no further apart
//	}
type BatchOptions = consumer.BatchOptions

// BatchMiddleware wraps a batch listener, as Middleware does others.
//
//	type BatchMiddleware func(BatchListener) BatchListener
type BatchMiddleware = consumer.BatchMiddleware

// Middleware wraps a listener, to measure it, or to log what it does.
//
//	type Middleware func(MessageListener) MessageListener
type Middleware = consumer.Middleware

// Exponential doubles the waiting time with each retry, from base up to most. Each is up
// to a fifth shorter or longer, so that messages which failed together come apart.
func Exponential(base, most time.Duration) consumer.Backoff { return verdict.Exponential(base, most) }

// Schedule waits d[0] for the first retry, d[1] for the second, and the last of them for
// all others.
func Schedule(d ...time.Duration) consumer.Backoff { return verdict.Schedule(d...) }

// Dead is the error of a message that no retry can mend: it is dead at once, and err is
// the reason.
func Dead(err error) error { return verdict.DeadError(err) }

// RetryAfter is the error of a message that should come again after d, whatever the
// Backoff says.
func RetryAfter(d time.Duration, err error) error { return verdict.RetryError(d, err) }

// Later is the error of a message that cannot be handled yet, for example because a shop is
// closed: it comes again after d, and the delivery does not count. It keeps its priority, and
// may be put back for ever. You may wrap the error, to say why.
func Later(d time.Duration) error { return verdict.LaterError(d) }

// Pushback is the error of a handler that finds what is behind it overloaded: the message goes
// back, the delivery does not count, and this worker begins nothing else of the topic for d, from 1
// ms to 1 hour. err says why, and is found by errors.Is; ErrorType says pushed_back. A message may
// be pushed back for ever. Handlers that run go on; if several push back, the topic rests until the
// last of them is satisfied.
func Pushback(d time.Duration, err error) error { return verdict.PushbackError(d, err) }
