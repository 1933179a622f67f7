// Package note reads what Redis keeps of the sends of messages, in topics with Notes.
//
// A [Note] may be about a newer copy of its message, which was sent while this one was taken: then nothing is known of this one. A
// worker reads the notes of a batch before its first handler, and forgets those of messages that are over.
//
// The package decides nothing by them: see packages consumer, expiry and poll.
package note
