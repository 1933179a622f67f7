// Package shift is one start of a worker: the contexts of what is done until Close, and the
// goroutines that must have ended before it is over.
//
// # Four contexts
//
// Four contexts (internal/shift). Background ends when the closing begins: no more looks, no more refreshes. Listening
// ends when all slots are left: until then the others may ask. Requests ends last: the turns that hand slots back need
// Redis when all else is over. Handlers is for what users see.
package shift

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Shift holds the contexts and the groups of goroutines of one start.
type Shift struct {
	Requests   context.Context // of all commands; ends when Close gives up
	Handlers   context.Context // of all handlers; ends when Close can wait for them no longer
	Background context.Context // of the goroutines beside the takers; ends when Close begins
	Listening  context.Context // of the one that hears wake-ups; ends when all slots are left

	EndRequests   context.CancelFunc
	EndHandlers   context.CancelCauseFunc
	EndBackground context.CancelFunc
	EndListening  context.CancelFunc

	Running    sync.WaitGroup // takers, and goroutines beside them that last or look something up
	Attending  sync.WaitGroup // what refreshes the lists of members and compares definitions
	Batches    sync.WaitGroup // being handled
	Watching   sync.WaitGroup // timers of watchdogs, renewals of leases, calls of Backoff
	Announcing sync.WaitGroup // messages to the workers that work at a slot next
	Late       sync.WaitGroup // what is not waited for: the end of a session that cannot be ended in time

	heard, idle atomic.Int64 // see Heard and Idle; since epoch
}

var epoch = time.Now()

// Heard notes that Redis has answered a turn or a look at slots.
func (s *Shift) Heard(now time.Time) { s.heard.Store(int64(now.Sub(epoch))) }

// Idle notes that there was nothing to look at.
func (s *Shift) Idle(now time.Time) { s.idle.Store(int64(now.Sub(epoch))) }

// Unheard is how long ago Redis answered.
func (s *Shift) Unheard() time.Duration { return time.Since(epoch) - time.Duration(s.heard.Load()) }

// Quiet is how long ago the work went as it should: Redis answered, or need not be asked.
func (s *Shift) Quiet() time.Duration {
	return time.Since(epoch) - time.Duration(max(s.heard.Load(), s.idle.Load()))
}

// New begins a shift.
func New() *Shift {
	s := &Shift{}
	s.Heard(time.Now())
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

// End cancels all handlers and all requests: nothing goes on after it.
func (s *Shift) End(cause error) {
	s.EndHandlers(cause)
	s.EndRequests()
}
