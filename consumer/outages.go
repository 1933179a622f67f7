package consumer

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/message"
)

// outages are what the breakers of a worker have noticed, on their way to people: to the log, to
// observers, and to Redis, where `rmq workers` finds them. A goroutine of its own does that.
type outages struct {
	*crew
	scripts *protocol.Scripts
	log     *zap.Logger

	mu    sync.Mutex
	fresh []outageOf
	wake  chan struct{} // there are fresh ones

	present map[*topic]outage // those that go on; only for run
}

type outageOf struct {
	topic *topic
	outage
}

func newOutages(c *Consumer, w *crew) *outages {
	return &outages{crew: w, scripts: c.scripts, log: c.log, wake: make(chan struct{}, 1), present: map[*topic]outage{}}
}

// add hands over what is to be reported. It does not block.
func (o *outages) add(t *topic, x outage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fresh = append(o.fresh, outageOf{t, x})
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// renewal is how often Redis is reminded of an outage that goes on, which it forgets after the
// time of three.
const renewal = 20 * time.Second

// run reports until the schedule is closed. If an observer ends the goroutine, another one goes
// on.
func (o *outages) run() {
	through := false
	defer func() {
		if !through {
			o.life.Go(o.run)
		}
	}()
	timer := time.NewTimer(renewal)
	defer timer.Stop()
	for !through {
		select {
		case <-o.wake:
			o.report()
		case <-timer.C:
			for t, x := range o.present {
				o.publish(t, x)
			}
			timer.Reset(renewal)
		case <-o.schedule.Done():
			o.close()
			through = true
		}
	}
}

// report reports what is new.
func (o *outages) report() {
	o.mu.Lock()
	fresh := o.fresh
	o.fresh = nil
	o.mu.Unlock()
	var events []*message.Event
	for _, x := range fresh {
		o.say(x)
		if o.news != nil {
			events = append(events, o.event(x))
		}
		if x.over.IsZero() {
			o.present[x.topic] = x.outage
		} else {
			delete(o.present, x.topic)
		}
		o.publish(x.topic, x.outage)
	}
	if o.news != nil {
		o.news.observers.Report(events)
		o.news.observers.Release(events...)
	}
}

// close reports to observers that the worker does not probe any more. Redis forgets it by itself:
// Close does not wait for that.
func (o *outages) close() {
	o.report() // what was on its way
	var events []*message.Event
	for t, x := range o.present {
		delete(o.present, t)
		if o.news != nil {
			x.over = time.Now()
			events = append(events, o.event(outageOf{t, x}))
		}
	}
	if o.news != nil {
		o.news.observers.Report(events)
		o.news.observers.Release(events...)
	}
}

func (o *outages) say(x outageOf) {
	log := o.log.With(zap.String("topic", x.topic.Name))
	if x.over.IsZero() {
		log.Warn("every message of a topic fails: only one is tried now and then, until one succeeds",
			zap.Time("since", x.since), zap.String("error", x.why))
	} else {
		log.Warn("messages of a topic succeed again", zap.Duration("after", x.over.Sub(x.since)), zap.Int("probes", x.probes))
	}
}

func (o *outages) event(x outageOf) *message.Event {
	e := o.news.observers.Event()
	e.Topic, e.Slot, e.Worker = x.topic.Topic.Topic, -1, o.fleet.Present().Worker()
	e.Topic.Name = x.topic.Qualified
	item := message.Item{What: message.Probing, Reason: "began"}
	if e.At = x.since; !x.over.IsZero() {
		e.At, item.Reason = x.over, "ended"
	}
	e.Items = append(e.Items, item)
	return e
}

// publish notes in Redis whether the worker probes. Only people look at that, so another try has time.
func (o *outages) publish(t *topic, x outage) {
	since := x.since
	if !x.over.IsZero() {
		since = time.Time{}
	}
	err := o.scripts.Probing(o.life.Background, t.Qualified, o.fleet.Present().Worker(), since, 3*renewal)
	if err != nil && o.life.Background.Err() == nil {
		o.log.Debug("people cannot see in Redis whether the worker probes", zap.String("topic", t.Name), zap.Error(err))
	}
}
