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
// The model knows nothing of bytes, keys and Lua: whether the scripts do what the model says is for
// the random driver and the damage test of the scripts. Clock steps of the server, paused slots and
// cancelled contents are not modelled either. That Redis forgets acknowledged writes is a matter of walks
// of their own (forgetting.go): of these it is wanted that the slot goes on, with what is left.
package model
