package observers

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/logs"
	"github.com/slotmq/go-rmq/message"
)

// Observers are those of one producer or consumer. It is nil if there are none, so nothing
// else has to be checked.
type Observers struct {
	all    []message.Observer
	log    *zap.Logger
	unused sync.Pool    // of events
	silent atomic.Int64 // no line about an observer that failed before this time, in ns
}

// linesApart keeps an observer that fails each time from filling the log.
const linesApart = time.Second

// Valid refuses observers that are nil.
func Valid(all []message.Observer) error {
	for i, o := range all {
		if f, isFunc := o.(message.ObserverFunc); o == nil || isFunc && f == nil {
			return &message.InvalidError{Field: "Config.Observers", Value: "nil at index " + strconv.Itoa(i), Limit: "observers"}
		}
	}
	return nil
}

// New returns nil if there are none.
func New(all []message.Observer, log *zap.Logger) *Observers {
	if len(all) == 0 {
		return nil
	}
	o := &Observers{all: slices.Clone(all), log: log}
	o.unused.New = func() any { return new(message.Event) }
	return o
}

// Event returns one without items.
func (o *Observers) Event() *message.Event { return o.unused.Get().(*message.Event) }

// Release gives events back, and clears the list of them. No observer may use them any more.
func (o *Observers) Release(all ...*message.Event) {
	for i, e := range all {
		clear(e.Items)
		*e = message.Event{Items: e.Items[:0]}
		o.unused.Put(e)
		all[i] = nil
	}
}

// Report shows events to each observer, one event after the other. If an observer ends the
// goroutine, all of them still see all events, but Report does not return: it is for the caller
// to go on in another goroutine. Another one for each call would cost more than the observers do.
func (o *Observers) Report(all []*message.Event) {
	s := show{of: o, events: all}
	s.rest()
}

// failed says that an observer did not return, now and then. A reason that is nil: it has
// ended its goroutine.
func (o *Observers) failed(one message.Observer, e *message.Event, reason any) {
	now := time.Now().UnixNano()
	if until := o.silent.Load(); now < until || !o.silent.CompareAndSwap(until, now+int64(linesApart)) {
		return
	}
	about := []zap.Field{zap.String("observer", fmt.Sprintf("%T", one)), zap.String("topic", e.Topic.Name), zap.Int("slot", e.Slot)}
	if reason == nil {
		o.log.Error("an observer ended its goroutine; the queue goes on", about...)
		return
	}
	o.log.Error("an observer panicked; the queue goes on", append(about, zap.String("panic", without(e, fmt.Sprint(reason))), zap.ByteString("stack", debug.Stack()))...)
}

// without keeps the contents of messages out of the log: the line is about the observer.
func without(e *message.Event, text string) string {
	contents := make([]string, len(e.Items))
	for i, x := range e.Items {
		contents[i] = x.Content
	}
	return logs.Without(contents...).Replace(text)
}
