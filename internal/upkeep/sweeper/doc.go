// Package sweeper has Redis forget the notes of messages that are over, in topics with notes.
//
// The turn that finishes a batch knows of no notes. So its worker has them removed afterwards,
// beside its turns: nothing waits for that, and it may fail. What is left over then, because the
// worker died or Redis did not answer, is found by a sweep: the worker that has a slot looks at a
// piece of its notes when it gains the slot, and at each safety look.
//
// Both call forget.lua, which leaves the note of a live copy alone. So no call comes too late.
//
// The package does not read notes, and does not know what is in them: see package consumer.
package sweeper
