// Package lifetime is one start of a worker: the contexts of what is done until Close, and the
// goroutines that must have ended before it is over.
//
// # Four contexts
//
// Background ends when the closing begins: no more looks, no more refreshes. Listening ends when all slots are left: until
// then the others may ask. Requests ends last: the turns that hand slots back need Redis when all else is over. Handlers is
// for what users see.
//
// # Two verbs
//
// [Lifetime.Go] begins what must have ended before the lifetime is over. [Lifetime.Attend] begins what enters the
// worker in the lists of members, or keeps it there: that must end before the worker leaves them, or it would be
// entered again.
//
// The package does not know what is done in a lifetime: see packages consumer and poll.
package lifetime

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// Lifetime holds the contexts and the goroutines of one start.
type Lifetime struct {
	Requests   context.Context // of all commands; ends when Close gives up
	Handlers   context.Context // of all handlers; ends when Close can wait for them no longer
	Background context.Context // of the goroutines beside the writers; ends when Close begins
	Listening  context.Context // of the one that hears wake-ups; ends when all slots are left

	EndRequests   context.CancelFunc
	EndHandlers   context.CancelCauseFunc
	EndBackground context.CancelFunc
	EndListening  context.CancelFunc

	running, attending, late sync.WaitGroup

	heard, idle atomic.Int64 // see Heard and Idle; since epoch
}

var epoch = time.Now()

// New begins a lifetime.
func New() *Lifetime {
	l := &Lifetime{}
	l.Heard(time.Now())
	l.Requests, l.EndRequests = context.WithCancel(context.Background())
	l.Handlers, l.EndHandlers = context.WithCancelCause(context.Background())
	l.Background, l.EndBackground = context.WithCancel(l.Requests)
	l.Listening, l.EndListening = context.WithCancel(l.Requests)
	return l
}

// Go begins what the lifetime waits for. Once it is under way, only what it waits for may begin more.
func (l *Lifetime) Go(f func()) { l.running.Go(f) }

// Hold makes the lifetime wait for something that is no goroutine yet, such as a timer, until
// [Lifetime.Release].
func (l *Lifetime) Hold() { l.running.Add(1) }

// Release ends a Hold.
func (l *Lifetime) Release() { l.running.Done() }

// Attend begins what keeps the worker among the others.
func (l *Lifetime) Attend(f func()) { l.attending.Go(f) }

// Attended returns when all of that has ended, or with the error of ctx: a Redis client may ignore ctx.
func (l *Lifetime) Attended(ctx context.Context) error { return wait.Group(ctx, &l.attending) }

// GoLate begins what Wait does not wait for: the end of a session that cannot be ended in
// time.
func (l *Lifetime) GoLate(f func()) { l.late.Go(f) }

// WaitLate waits for it all the same, in tests.
func (l *Lifetime) WaitLate() { l.late.Wait() }

// Wait returns when nothing of the lifetime runs any more, but for what is late.
func (l *Lifetime) Wait() {
	l.running.Wait()
	l.attending.Wait()
}

// End cancels all handlers and all requests: nothing goes on after it.
func (l *Lifetime) End(cause error) {
	l.EndHandlers(cause)
	l.EndRequests()
}

// Heard notes that Redis has answered a turn or a look at slots.
func (l *Lifetime) Heard(now time.Time) { l.heard.Store(int64(now.Sub(epoch))) }

// Idle notes that there was nothing to look at.
func (l *Lifetime) Idle(now time.Time) { l.idle.Store(int64(now.Sub(epoch))) }

// Unheard is how long ago Redis answered.
func (l *Lifetime) Unheard() time.Duration {
	return time.Since(epoch) - time.Duration(l.heard.Load())
}

// Quiet is how long ago the work went as it should: Redis answered, or need not be asked.
func (l *Lifetime) Quiet() time.Duration {
	return time.Since(epoch) - time.Duration(max(l.heard.Load(), l.idle.Load()))
}
