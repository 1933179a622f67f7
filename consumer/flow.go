package consumer

import (
	"sync"
	"time"

	"github.com/slotmq/go-rmq/internal/worker/flow"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// Flow has a worker find out how many handlers of a topic are of use, and bounds that. If what
// is behind the handlers is the bottleneck, such as a database that serves eight at a time,
// more than eight only wait there, in places that other topics could have. So while messages
// wait, the worker tries fewer handlers for a moment. If these handle as many messages, it stays
// with fewer. Now and then it tries more, and stays with more if they handle more. When
// handlers time out or push back, it takes fewer at once. The zero Flow is from 1 to the
// Concurrency of the topic.
//
// Workers of a topic often share a bottleneck, so they try at the same time: one leads, and tells the others by a
// message on the channel of the wake-ups. Where a batch takes longer than 10 s, fewer handlers are not tried.
type Flow struct {
	// Min is how many handlers may run at once at the least, from 1 to the Concurrency of the
	// topic. Defaults to 1.
	Min int

	// Max is how many may run at once at the most, from Min to the Concurrency of the topic.
	// Defaults to that.
	Max int
}

func (f Flow) withDefaults(concurrency int) Flow {
	if f.Min == 0 {
		f.Min = 1
	}
	if f.Max == 0 {
		f.Max = concurrency
	}
	return f
}

// flowControl keeps a topic's handlers as many as are of use.
type flowControl struct {
	mu    sync.Mutex
	limit *flow.Limit
	lead  func(flow.Word) // tells the other workers
}

// newFlowControl returns nil where there is nothing to find out.
func newFlowControl(f Flow, worker string, lead func(flow.Word)) *flowControl {
	if f.Min == f.Max {
		return nil
	}
	return &flowControl{limit: flow.New(worker, f.Min, f.Max), lead: lead}
}

// follow takes into account what another worker says.
func (c *flowControl) follow(w flow.Word, t *schedule.Topic) {
	if c == nil || t.Demand().Others { // as in learn
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.limit.Places()
	if after := c.limit.Heard(w, time.Now()); after != before {
		t.Allow(schedule.ByFlow, after)
	}
}

// learn takes a finished batch into account: how long it lasted, and how long its handlers were
// busy, added up.
func (c *flowControl) learn(b *batch, lasted, busy time.Duration) {
	good, over, pushed := 0, 0, false
	for _, r := range b.results {
		switch {
		case r.Overload:
			over++
			pushed = pushed || r.Fate == verdict.NotStarted
		case r.Fate == verdict.Done, r.Fate == verdict.Snoozed:
			good++
		}
	}
	t := b.topic.scheduled
	demand := t.Demand()
	if demand.Others && !pushed { // what comes out shows what they allow
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.limit.Places()
	after := c.limit.Finished(flow.Batch{
		End: time.Now(), Took: lasted, Busy: busy, Good: good, Overload: over, Pushed: pushed,
		Places: demand.Permits, Waiting: demand.Waiting, Full: demand.Full, Slots: demand.Slots,
	})
	if after != before {
		t.Allow(schedule.ByFlow, after)
	}
	if w, ok := c.limit.Says(); ok && demand.Slots < t.Slots { // else it is alone
		c.lead(w)
	}
}

// Handlers returns how many handlers of a topic may run at once in this worker at present: its
// Concurrency, or fewer while something limits it, such as its [Flow]. While only one message is
// tried now and then, since all fail, that is 1, and 0 while the topic rests after a [Pushback]. It
// is 0 of a topic that the worker does not listen to, too.
func (c *Consumer) Handlers(t message.Topic) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.topics {
		switch {
		case x.Name != t.Name:
		case c.crew == nil: // not started
			return x.opts.Flow.Max
		default:
			return x.gate.Handlers()
		}
	}
	return 0
}

// AllHandlers returns what Handlers does for each topic that the worker works at, by its name with
// the namespace. It is empty before Start, and nil from Close on.
func (c *Consumer) AllHandlers() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase == closed {
		return nil
	}
	all := make(map[string]int, len(c.topics))
	for _, x := range c.topics {
		if c.phase == started {
			all[x.Qualified] = x.gate.Handlers()
		}
	}
	return all
}
