// Package model is an executable model of the protocol of one slot: small enough to be searched
// whole, honest enough to break when one of the protocol's rules is taken away.
//
// The world of the model is one slot with one or two contents and two or three worker processes.
// Redis is the four sorted sets and the meta hash of the slot; a script is one step. Everything a
// network and an operating system may do is a step too: requests and replies travel separately,
// replies get lost, requests are duplicated and arrive late, processes crash, freeze and start
// again under a new id, sessions expire, assignments move, views of the members are old, time goes
// on.
//
// What must never happen is stated once, in check.go and where the observer watches a delivery:
//
//	LOST           a content is owed, and no key holds it
//	SERIAL         two live handlers in the slot
//	CONCURRENT     one content is handled twice at the same time
//	EARLY          a fixed-time content is delivered before its last accepted time
//	LATE           a range-merge content that was taken and not begun waits for a later time
//	SOON           a content that its handler put back comes before its time
//	PRIORITY-LOST  a fresh content is delivered with another priority than the last one stored
//	DEAD-EARLY     a content dies before its first delivery and all its retries
//	OVERRUN        a content is delivered more often than that (dead late)
//	STRANDED       a batch without a worker, or something undelivered after the faults have ended
//	SPENT          a batch is taken over whose holder lives, since Redis forgot what became of it
//	UNTOLD         a late holder is answered as if its finish had been applied
//	JOURNAL-LOST   what is in Redis, or owed, is settled in the journal
//	JOURNAL-KEPT   what has ended is owed in a journal that knows the number at each send
//
// There are three ways to look for them. Random walks (walk.go) are long, use every fault and end
// in a drain without faults, in which everything owed must get delivered. The breadth-first search
// (search.go) visits every state that can be reached within small bounds; states that differ only
// in what can have no effect any more count as one (normal.go). The table of the rules
// (rules_test.go) switches off one rule at a time and demands that one of the two notices.
//
// Lanes have a model of their own beside it (lanes.go and the other files named so), of what is to come: the
// holder of a slot takes more while its handlers run. Three contents, two of one entity; two workers that both
// believe to have the slot, and one that helps. It shares the search and the random choice. Its promises:
//
//	CONCURRENT     two handlers of one entity; ENTITY: in one worker, also when Redis forgets
//	NOT-HELD       what runs is not in prepare at its worker
//	RESTARTED      what runs is begun once more
//	AGAIN          what has ended is begun once more under the same take
//	CUT            a worker drops what it runs, and may
//	CROWDED        a suspect is in prepare with another
//	NEIGHBOUR      a content loses two attempts to deaths that others shared
//	FENCE          a content is taken under a number that is not larger than before
//	ONCE           a content is in prepare and in retry
//
// and LOST, DEAD-EARLY, OVERRUN, JOURNAL-LOST and STRANDED, as above: from where a walk ends, and from a sample
// of the searched states, 600 random steps without faults empty the slot. Of the time only the order counts:
// a lease ends when its holder is dead or does not trust it any more. The server's clock is never behind a
// number that was given, so what is sent after Redis forgot has no smaller stamp. Redis goes back up to twelve
// changes, and what it forgot it never knows again. Not checked there: delays, priorities and due times, sizes,
// cancelled messages, handlers that ignore their context, calls with several messages, whether the order is
// fair, and that the journal comes to know of each end. What is told again counts as taken under the number of
// its take; any smaller one settles less, so it is safe, too; but
// that a message that runs is told again under a later take than its own, a mark in seconds shows only if a
// second lies between: this is a matter of a Redis that forgot. A touch is accepted under the slot's present
// number only. Helpers begin by themselves, not when called.
//
// The model knows nothing of bytes, keys and Lua: whether the scripts do what the model says is for
// the random driver and the damage test of the scripts. Clock steps of the server, paused slots and
// cancelled contents are not modelled either. That Redis forgets acknowledged writes is a matter of walks
// of their own (forgetting.go): of these it is wanted that the slot goes on, with what is left.
package model
