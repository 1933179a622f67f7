package consumer

import (
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/sharing/fleet"
	"github.com/slotmq/go-rmq/internal/worker/gate"
	"github.com/slotmq/go-rmq/internal/worker/intake"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/internal/worker/takeoverdelay"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/internal/worker/watchdog"
	"github.com/slotmq/go-rmq/message"
)

// topic is what a consumer keeps about a topic it listens to.
type topic struct {
	fleet.Topic
	opts          ListenOptions
	rules         verdict.Rules
	limits        watchdog.Limits
	listener      MessageListener
	calls         *batchCalls // nil: the listener is called with one message after the other
	scheduled     *schedule.Topic
	size          intake.Size
	gate          *gate.Gate
	takeoverDelay takeoverdelay.Topic
	handlers      *intake.Handlers // nil: nothing is to be found out
	rests         atomic.Int64     // until then, in ms, where the clock stands still; else its gate knows
	lasting       atomic.Pointer[lastingError]
}

// lastingError is why messages of a topic cannot be handled until somebody mends it, and when it was met last.
type lastingError struct {
	error
	at time.Time
}

// meets notes an error if it is one that lasts: a key is of a wrong type.
func (t *topic) meets(err error) {
	if script.IsWrongType(err) {
		t.lasting.Store(&lastingError{err, time.Now()})
	}
}

func newTopic(t message.Topic, namespace string) *topic {
	x := new(topic)
	x.Topic.Topic, x.Qualified = t, protocol.Qualify(namespace, t.Name)
	return x
}

// schedule makes the topic as the schedule knows it.
func (t *topic) schedule() *schedule.Topic {
	t.limits = watchdog.Limits{Timeout: t.opts.Timeout, Hung: t.opts.hung, Parallel: t.opts.Parallel, Together: t.calls != nil}
	t.rules = verdict.Rules{Timeout: t.opts.Timeout, Deliveries: t.opts.MaxAttempts, Backoff: verdict.Backoff(t.opts.Backoff), Literal: t.Literal}
	t.scheduled = &schedule.Topic{
		Name: t.Name, Slots: t.Slots, Most: t.opts.Flow.Max, Value: t,
		Gather:  t.gather(),
		NewSlot: func(index int) *schedule.Slot { return newSlot(t, index) },
	}
	t.takeoverDelay = takeoverdelay.Topic{Name: t.Name, Scheduled: t.scheduled, Literal: t.Literal, Backoff: verdict.Backoff(t.opts.Backoff)}
	if t.calls != nil {
		t.scheduled.Wants = t.calls.Most
	}
	if t.opts.Parallel {
		t.scheduled.Together = t.size.Most
	}
	return t.scheduled
}

// asTopic is what the worker keeps about a topic of the schedule.
func asTopic(t *schedule.Topic) *topic { return t.Value.(*topic) }
