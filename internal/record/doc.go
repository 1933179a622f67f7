// Package record has the words in which a journal is told what was sent and what became of it, and in
// which it answers: those that producers, workers and tools have in common with package journal.
//
// A journal is told in two ways: of sends by [Sends], and of all else by the events of package message.
//
// It does not say how a journal keeps what it is told: package ledger does.
package record
