package observers

import (
	"sync"

	"github.com/slotmq/go-rmq/message"
)

// show is one event on its way through the observers.
type show struct {
	of      *Observers
	event   *message.Event
	next    int // the first observer that has not been called
	running sync.WaitGroup
	run     func() // a method value, made once: it would be an allocation for each event
}

func newShow(of *Observers) *show {
	s := &show{of: of}
	s.run = s.rest
	return s
}

// rest calls the observers that have not been called. Each is called once. If one ends the
// goroutine, which no recover prevents, the others are called in another.
func (s *show) rest() {
	defer func() {
		if s.next < len(s.of.all) {
			go s.run()
			return
		}
		s.running.Done()
	}()
	for s.next < len(s.of.all) {
		s.call(s.of.all[s.next])
	}
}

func (s *show) call(one message.Observer) {
	s.next++
	returned := false
	defer func() {
		if p := recover(); !returned {
			s.of.failed(one, s.event, p)
		}
	}()
	one.Observe(s.event)
	returned = true
}
