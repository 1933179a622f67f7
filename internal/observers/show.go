package observers

import "github.com/slotmq/go-rmq/message"

// show is some events on their way through the observers.
type show struct {
	of     *Observers
	events []*message.Event
	at     int // the event that is shown
	next   int // the first observer that has not been called with it
}

// rest makes the calls that have not been made. Each observer is called once with an event. If
// one ends the goroutine, which no recover prevents, the other calls are made while it ends.
func (s *show) rest() {
	defer func() {
		if s.at < len(s.events) {
			s.rest()
		}
	}()
	for ; s.at < len(s.events); s.at, s.next = s.at+1, 0 {
		for s.next < len(s.of.all) {
			s.call(s.of.all[s.next], s.events[s.at])
		}
	}
}

func (s *show) call(one message.Observer, e *message.Event) {
	s.next++
	returned := false
	defer func() {
		if p := recover(); !returned {
			s.of.failed(one, e, p)
		}
	}()
	one.Observe(e)
	returned = true
}
