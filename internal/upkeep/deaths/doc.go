// Package deaths reports each message that died at least once: the work behind
// rmq.Client.ListenDead.
//
// The source is the set of the dead itself: when a message dies with its worker, that worker
// cannot report it. meta{T_N} has the ms up to which the deaths of a slot were reported. The
// worker that has the slot reads on from there, reports, and then moves it. It looks when one
// of its own turns has killed or taken over, when it gains the slot, and at each safety look.
//
// A slot whose deaths cannot be reported keeps neither its messages nor other slots waiting.
// Slots of a topic take turns at some places, and a call that hangs gives its place up.
//
// It does not know who listens, nor take anything out of the dead.
//
// # A death is read from the set of the dead
//
// A worker could report the deaths of its own verdicts without a question. But it may die before it does, and a
// take-over kills without any worker that could. So verdicts and take-overs only say when to look. What was reported is
// noted after the call, never before it.
package deaths
