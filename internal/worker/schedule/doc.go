// Package schedule decides which slot of a worker is next: which are ready for a turn,
// asleep, waiting for a permit, or handed over to another id of the worker.
//
// A slot is either here or in hand: with a writer, between [Schedule.Next] and the method
// that gives it back, or with the goroutine that handles its batch. What the schedule
// must know of the slot's turns goes with it, as [Facts].
//
//	asleep ──wake-up, or its time──► ready ──Next──► turning ──Rest──► asleep
//	           (no permit free:      ▲                 │ Work
//	              waiting)            └──Again── working ◄┘
//
// The package knows no Redis, starts no goroutine, writes no log, and reads the time from
// the clock it is given. It does not know what a turn is, what a message is, or when a
// handler takes too long: see package consumer.
//
// # Who knows what
//
//	schedule.go           the queue of the writers, and the end
//	slot.go, topic.go     a slot, and a topic
//	assign.go             which slots are this worker's
//	states.go             how a slot goes from state to state, with the help of those below
//	permits.go, limits.go who may run a handler, and what makes it fewer
//	rate.go, bucket.go    who may begin a message, and when
//	sleepers.go           who wakes when
//	moves.go              which slots have come and gone, for others to hear
//	terms.go              what becomes of slots when the id of the worker changes
//
// The types permits, rates, sleepers and Moves are accounts: none of them changes a slot's state.
//
// # One lock
//
// All of that is one state, under the lock of the schedule: a permit that comes free changes
// the account, the queue in which a slot waits, its state, and the queue of the writers, in one
// step. Exported methods take the lock; the others are called with it held, but for those that
// say that they take it. A field that may be read without it is an atomic one, or is not
// changed. None of the methods waits but Next, WaitIdle, Settle, Alarm and Moves.Next, and nothing takes
// longer the more topics there are, but for what is done with all of them at once.
//
// # Permits come before turns
//
// A slot waits for its permit, one of Concurrency, before it takes its turn. If it took a batch first, the batch would
// be in flight, with its lease running, until a goroutine is free, and no other worker could have it.
//
// # A slot that ends a batch keeps its permit
//
// The turn that reports also takes. Without the permit it would have to report, wait, and ask once more: twice the turns
// of a busy slot. It gives the permit up (and its turn only leaves) when Next finds so by permits.yields: another topic
// that waits has at least two permits fewer, or another slot could use it and this one had it for 100 ms. A topic at its
// own limit could not use it, so slots do not yield to that.
//
// # Fewest first, then least recently
//
// These two decide which topic gets a free permit, among those that may have one more: not beyond its own limit (Most),
// nor where what is left is kept for others (reserve). How long a topic waits has a bound. To choose the longest waiting
// slot would be wrong: a topic with many slots always has one that has waited longest. Sums (used, kept) and a heap of
// the topics that wait make it cost the same with 10,000 topics as with 10. It is enough to look at the first of the
// heap: it has the fewest permits, so if it may have none, because all that is kept for it is taken, the others may have
// none either.
//
// # Permits are given up one by one
//
// When a topic is allowed fewer permits than it uses, each batch under way asks before its next message (Slot.GiveUp,
// an atomic load nearly always). As many give their permit up as are too many, at once, and not when their turn is
// answered: or all would see the same excess, and all would go.
//
// # A batch may have to wait for its permit
//
// A slot gives its permit up when its turn has no answer for long. That turn may have taken a batch all the same, and so
// may hundreds when Redis stood still and goes on. Each waits in hand, with its lease kept (AwaitPermit), and is handled
// when it gets a permit. If it were handed back, its priorities would be lost, since Redis returns them only once. A
// batch that is given up while it waits begins nothing, and is handed back.
//
// # A rate is no limit of permits
//
// It would be simpler to allow a topic without tokens no permits (Allow). But then its batches would give up messages
// that are paid for, and when a token came, all its slots would get permits, and all but one find nothing. So a slot pays
// when it gets its permit, in the same step, and what waits is served in that order. The buckets are in the schedule
// because there the slots are: what a worker has of the rate changes in the step in which it gains or loses one.
//
// # A slot pays for twice what it took
//
// If it paid for a whole batch, 64 slots with one message each would take turns one after the other, each with all
// tokens, for as long as a turn takes. If it paid for one message, a rate of 10,000 a second would need as many turns.
//
// # A parallel batch has its permits before its turn
//
// Otherwise several slots of a topic would each read as many messages as there are free permits, one would get the
// permits, and the others would hand theirs back a second later.
package schedule
