package gate

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/observers"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/message"
)

// Outage is one as people hear of it.
type Outage struct {
	Since  time.Time
	Over   time.Time // zero: it goes on
	Probes int
	Why    string // the last message failed
}

// Outages are what the gates of a worker have noticed, on their way to people: to the log, to
// observers, and to Redis, where `rmq workers` finds them. A goroutine of its own does that.
type Outages struct {
	OutagesConfig

	mu    sync.Mutex
	fresh []outageOf
	wake  chan struct{} // there are fresh ones

	present map[string]outageOf // those that go on, by the topic's name with its namespace; only for Run
}

// OutagesConfig is what the outages of a worker need.
type OutagesConfig struct {
	Life      *lifetime.Lifetime
	Scripts   *protocol.Scripts
	Log       *zap.Logger
	Observers *observers.Observers // nil: nothing observes
	Worker    func() string        // is the id of the worker at present
	Done      <-chan struct{}      // closed when all slots are left
}

// outageOf is the outage of a topic.
type outageOf struct {
	Outage
	topic     message.Topic
	qualified string // its name with the namespace
}

// NewOutages returns those of a worker, of which there is none so far.
func NewOutages(c OutagesConfig) *Outages {
	return &Outages{OutagesConfig: c, wake: make(chan struct{}, 1), present: map[string]outageOf{}}
}

// Of returns what the gate of a topic reports its outages by. The name is that with the namespace.
func (o *Outages) Of(t message.Topic, qualified string) func(Outage) {
	return func(x Outage) { o.add(outageOf{x, t, qualified}) }
}

// add hands over what is to be reported. It does not block.
func (o *Outages) add(x outageOf) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fresh = append(o.fresh, x)
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// renewal is how often Redis is reminded of an outage that goes on, which it forgets after the
// time of three.
const renewal = 20 * time.Second

// Run reports until all slots are left. If an observer ends the goroutine, another one goes
// on.
func (o *Outages) Run() {
	through := false
	defer func() {
		if !through {
			o.Life.Go(o.Run)
		}
	}()
	timer := time.NewTimer(renewal)
	defer timer.Stop()
	for !through {
		select {
		case <-o.wake:
			o.report()
		case <-timer.C:
			for _, x := range o.present {
				o.publish(x)
			}
			timer.Reset(renewal)
		case <-o.Done:
			o.close()
			through = true
		}
	}
}

// report reports what is new.
func (o *Outages) report() {
	o.mu.Lock()
	fresh := o.fresh
	o.fresh = nil
	o.mu.Unlock()
	var events []*message.Event
	for _, x := range fresh {
		o.say(x)
		events = o.event(events, x)
		if x.Over.IsZero() {
			o.present[x.qualified] = x
		} else {
			delete(o.present, x.qualified)
		}
		o.publish(x)
	}
	o.show(events)
}

// close reports to observers that the worker does not probe any more. Redis forgets it by itself:
// Close of the worker does not wait for that.
func (o *Outages) close() {
	o.report() // what was on its way
	var events []*message.Event
	for _, x := range o.present {
		x.Over = time.Now()
		events = o.event(events, x)
	}
	clear(o.present)
	o.show(events)
}

// show shows events to the observers.
func (o *Outages) show(events []*message.Event) {
	if o.Observers != nil {
		o.Observers.Report(events)
		o.Observers.Release(events...)
	}
}

// say writes an outage to the log.
func (o *Outages) say(x outageOf) {
	log := o.Log.With(zap.String("topic", x.topic.Name))
	if x.Over.IsZero() {
		log.Warn("every message of a topic fails: only one is tried now and then, until one succeeds",
			zap.Time("since", x.Since), zap.String("error", x.Why))
	} else {
		log.Warn("messages of a topic succeed again", zap.Duration("after", x.Over.Sub(x.Since)), zap.Int("probes", x.Probes))
	}
}

// event adds the event of an outage to others, if something observes.
func (o *Outages) event(others []*message.Event, x outageOf) []*message.Event {
	if o.Observers == nil {
		return nil
	}
	e := o.Observers.Event()
	e.Topic, e.Slot, e.Worker = x.topic, -1, o.Worker()
	e.Topic.Name = x.qualified
	item := message.Item{What: message.Probing, Reason: "began"}
	if e.At = x.Since; !x.Over.IsZero() {
		e.At, item.Reason = x.Over, "ended"
	}
	e.Items = append(e.Items, item)
	return append(others, e)
}

// publish notes in Redis whether the worker probes. Only people look at that, so another try has time.
func (o *Outages) publish(x outageOf) {
	since := x.Since
	if !x.Over.IsZero() {
		since = time.Time{}
	}
	err := o.Scripts.Probing(o.Life.Background, x.qualified, o.Worker(), since, 3*renewal)
	if err != nil && o.Life.Background.Err() == nil {
		o.Log.Debug("people cannot see in Redis whether the worker probes", zap.String("topic", x.topic.Name), zap.Error(err))
	}
}
