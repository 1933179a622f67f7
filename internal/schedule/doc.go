// Package schedule decides which slot of a worker is next: which are ready for a turn,
// asleep, waiting for a place, or handed over to another id of the worker.
//
// A slot is either here or in hand: with a taker, between [Schedule.Next] and the method
// that gives it back, or with the goroutine that handles its batch. What the schedule
// must know of the slot's turns goes with it, as [Facts].
//
//	asleep ──wake-up, or its time──► ready ──Next──► turning ──Rest──► asleep
//	             (no place free:      ▲                 │ Work
//	              waiting)            └──Again── working ◄┘
//
// Exported methods take the lock; those that end in Locked are called with it held. None
// of them waits but Next, WaitIdle and Alarm, and nothing takes longer the more
// topics there are, but for what is done with all of them at once.
//
// The package knows no Redis, starts no goroutine, writes no log, and reads the time from
// the clock it is given. It does not know what a turn is, what a message is, or when a
// handler takes too long: see package consumer.
package schedule
