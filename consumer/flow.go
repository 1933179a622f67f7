package consumer

import (
	"time"

	"github.com/slotmq/go-rmq/internal/worker/intake"
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

// cameOut is what has come out of a finished batch that lasted for a time, while its handlers were busy for another,
// added up.
func cameOut(results []verdict.Verdict, lasted, busy time.Duration) intake.Batch {
	out := intake.Batch{Lasted: lasted, Busy: busy}
	for _, r := range results {
		switch {
		case r.Overload:
			out.Overload++
			out.Pushed = out.Pushed || r.Fate == verdict.NotStarted
		case r.Fate == verdict.Done, r.Fate == verdict.Snoozed:
			out.Good++
		}
	}
	return out
}

// Handlers returns how many handlers of a topic may run at once in this worker at present: its
// Concurrency, or fewer while something limits it, such as its [Flow]. While only one message is
// tried now and then, since all fail, that is 1, and 0 while the topic rests after an rmq.Pushback. It
// is 0 of a topic that the worker does not listen to, too.
func (c *Consumer) Handlers(t message.Topic) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, x := range c.topics {
		switch {
		case x.Name != t.Name:
		case c.running == nil: // not started
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
