package consumer

import (
	"context"
	"sync"
)

// shift is the work between Start and Close: the contexts of what is done in it, and the
// goroutines that must have ended before it is over.
type shift struct {
	requests   context.Context // of all commands; ended when Close gives up
	handlers   context.Context // of all handlers; ended when Close can wait no longer
	background context.Context // of the goroutines beside the takers
	listening  context.Context // of the one that hears wake-ups, until all slots are left

	endRequests   context.CancelFunc
	endHandlers   context.CancelCauseFunc
	endBackground context.CancelFunc
	endListening  context.CancelFunc

	running    sync.WaitGroup // takers and the goroutines beside them
	attending  sync.WaitGroup // those that refresh the lists of members
	batches    sync.WaitGroup // being handled
	watching   sync.WaitGroup // timers of watchdogs
	announcing sync.WaitGroup // wake-ups for the workers that work at a slot next
}

func newShift() *shift {
	s := &shift{}
	s.requests, s.endRequests = context.WithCancel(context.Background())
	s.handlers, s.endHandlers = context.WithCancelCause(context.Background())
	s.background, s.endBackground = context.WithCancel(s.requests)
	s.listening, s.endListening = context.WithCancel(s.requests)
	return s
}

// wait returns when nothing of the shift runs any more.
func (s *shift) wait() {
	s.running.Wait()
	s.attending.Wait()
	s.batches.Wait()
	s.watching.Wait()
	s.announcing.Wait()
}

// end ends what is still waiting for an answer.
func (s *shift) end(cause error) {
	s.endHandlers(cause)
	s.endRequests()
}
