// Package shift is the work of one worker between Start and Close: the contexts of what is
// done in it, and the goroutines that must have ended before it is over.
package shift

import (
	"context"
	"sync"
)

// Shift is one of them.
type Shift struct {
	Requests   context.Context // of all commands; ended when Close gives up
	Handlers   context.Context // of all handlers; ended when Close can wait no longer
	Background context.Context // of the goroutines beside the takers
	Listening  context.Context // of the one that hears wake-ups, until all slots are left

	EndRequests   context.CancelFunc
	EndHandlers   context.CancelCauseFunc
	EndBackground context.CancelFunc
	EndListening  context.CancelFunc

	Running    sync.WaitGroup // takers and the goroutines beside them
	Attending  sync.WaitGroup // those that refresh the lists of members
	Batches    sync.WaitGroup // being handled
	Watching   sync.WaitGroup // timers of watchdogs
	Announcing sync.WaitGroup // wake-ups for the workers that work at a slot next
	Late       sync.WaitGroup // what is not waited for: the end of a session that cannot be ended in time
}

// New begins a shift.
func New() *Shift {
	s := &Shift{}
	s.Requests, s.EndRequests = context.WithCancel(context.Background())
	s.Handlers, s.EndHandlers = context.WithCancelCause(context.Background())
	s.Background, s.EndBackground = context.WithCancel(s.Requests)
	s.Listening, s.EndListening = context.WithCancel(s.Requests)
	return s
}

// Wait returns when nothing of the shift runs any more, but for what is late.
func (s *Shift) Wait() {
	s.Running.Wait()
	s.Attending.Wait()
	s.Batches.Wait()
	s.Watching.Wait()
	s.Announcing.Wait()
}

// End ends what is still waiting for an answer.
func (s *Shift) End(cause error) {
	s.EndHandlers(cause)
	s.EndRequests()
}
