// Package observers passes events on to the observers of a program.
//
//	o := observers.New(cfg.Observers, log) // nil if there are none
//	if o != nil {
//		e := o.Event()
//		e.Items = append(e.Items, …)
//		o.Report(e)
//		o.Release(e)
//	}
//
// An observer that panics, or ends its goroutine, costs a line in the log. The others see the
// event all the same, and what reports it, such as a taker of turns, goes on. Events are used
// again, so one that is full of messages costs no memory each time.
//
// It does not decide what is an event and when: see producer/events.go and
// consumer/events.go.
package observers
