// Package lookout is the safety look. A wake-up may get lost, and a program that fills a topic by
// plain ZADD sends none. So now and then Redis is asked how many contents of each idle
// slot are due before the slot wakes by itself, and whether something of it is in
// flight. Where there is something, the slot is woken. The answers are numbers,
// however large the contents are.
//
// Slots that are new to this worker are looked at in the same way before they get a turn.
// Most of them are empty, and a turn costs ten times as much as a look.
//
// Of a slot that sleeps until it is woken, anything at all is a reason to wake it. So
// first it is only asked whether any of its keys exists, of many slots by one command
// where one server has all keys. Nearly always the answer is no for all of them.
//
// # Gained slots are looked at first
//
// A turn at each of 160,000 slots would take Redis and the worker many seconds, and most of them are empty. A look costs
// a tenth of that. It sees what waits and what is in flight, so it finds all that a turn would find. If it fails, all of
// them take a turn, and turns are repeated until they are answered.
//
// # The safety look reads numbers
//
// For each sleeping slot it asks how much is due before the slot wakes by itself (ZCOUNT, or ZCARD of priorities), and
// whether anything is in flight, which finds a batch that no worker knows of any more. So it remembers nothing, and no
// content crosses the wire. The message for which a slot will wake is due at that moment, so it is not counted. The
// bound is by the server's clock, which is read first: if that clock was set forward, messages may be due although their
// slots would sleep on. A slot that is paused or another's is skipped, since it looks again within 5 s.
//
// # First it asks whether anything exists
//
// A slot that sleeps until it is woken knows of no message, so any message at all is a reason to wake it. One EXISTS
// with the keys of 32 such slots answers for all of them, and nearly always says 0. On a Cluster the keys of different
// slots cannot be in one command, so there it is one for each slot. Only slots of which something exists, or which sleep
// until a known time, are asked for more.
package lookout
