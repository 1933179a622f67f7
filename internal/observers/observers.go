package observers

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/message"
)

// Observers are those of one producer or consumer. Where there are none it is nil, so that
// this is all that has to be asked.
type Observers struct {
	all    []message.Observer
	log    *zap.Logger
	unused sync.Pool
	silent atomic.Int64 // no line about a panic before this time, in ns
}

// panicsApart keeps an observer that panics each time from filling the log.
const panicsApart = time.Second

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
	return &Observers{all: append([]message.Observer(nil), all...), log: log, unused: sync.Pool{New: func() any { return new(message.Event) }}}
}

// Event returns one without items.
func (o *Observers) Event() *message.Event { return o.unused.Get().(*message.Event) }

// Release gives an event back. No observer may use it any more.
func (o *Observers) Release(e *message.Event) {
	clear(e.Items)
	*e = message.Event{Items: e.Items[:0]}
	o.unused.Put(e)
}

// Report shows an event to each observer, and returns when all have seen it.
func (o *Observers) Report(e *message.Event) {
	for _, one := range o.all {
		o.show(one, e)
	}
}

func (o *Observers) show(one message.Observer, e *message.Event) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		now := time.Now().UnixNano()
		if until := o.silent.Load(); now >= until && o.silent.CompareAndSwap(until, now+int64(panicsApart)) {
			o.log.Error("an observer panicked; the queue goes on", zap.String("observer", fmt.Sprintf("%T", one)),
				zap.String("topic", e.Topic.Name), zap.Int("slot", e.Slot), zap.String("panic", without(e, fmt.Sprint(p))), zap.ByteString("stack", debug.Stack()))
		}
	}()
	one.Observe(e)
}

// without keeps the contents of messages out of the log: the line is about the observer.
func without(e *message.Event, text string) string {
	contents := make([]string, len(e.Items))
	for i, x := range e.Items {
		contents[i] = x.Content
	}
	slices.SortFunc(contents, func(a, b string) int { return len(b) - len(a) }) // one may be a part of another
	var hidden []string
	for _, content := range contents {
		if content != "" {
			hidden = append(hidden, content, "…")
		}
	}
	return strings.NewReplacer(hidden...).Replace(text)
}
