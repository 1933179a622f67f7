// Package deaths reports each message that died at least once: the work behind
// rmq.Client.ListenDead.
//
// The source is the set of the dead itself, since a message also dies when its worker does,
// and nobody is there to report that. meta{T_N} has the ms up to which the deaths of a slot
// were told. The worker at the slot reads on from there, calls, and then moves it. It looks
// when one of its own turns has killed or taken over, when it gains the slot, and at each
// safety look.
//
// A slot whose deaths cannot be told keeps neither its messages nor other slots waiting. Slots
// of a topic take turns at some places, and a call that hangs gives its place up.
//
// It does not know who listens, nor take anything out of the dead.
package deaths
