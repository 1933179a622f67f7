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
package lookout
