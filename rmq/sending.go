package rmq

import (
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

// Receipt says what became of a message that you sent.
//
//	type Receipt struct {
//		Outcome Outcome   // Stored, Merged, Duplicate or Accepted
//		Slot    int       // where it waits
//		Due     time.Time // when it is due, by the clock of Redis; zero if it has a priority
//		Past    bool      // its At had passed, so it is due now
//	}
type Receipt = producer.Receipt

// Outcome is what a send did.
type Outcome = producer.Outcome

// The outcomes of a send.
const (
	// Accepted is Stored or Merged. Messages that were sent together share one answer;
	// Config.ExactReceipts gives each its own.
	Accepted = producer.Accepted

	// Stored is a message whose content did not wait in the slot.
	Stored = producer.Stored

	// Merged is a message whose content waited already.
	Merged = producer.Merged

	// Duplicate is a Unique message of which an equal one was sent within its time. Nothing is
	// stored.
	Duplicate = producer.Duplicate
)

// Durability is a number of replicas that must have a message before Send returns nil.
//
//	type Durability struct {
//		Replicas int           // 0: do not wait
//		Timeout  time.Duration // 0: 1 s; then ErrNotReplicated
//	}
type Durability = producer.Durability

// BatchError says which messages of a SendBatch may not be stored. The receipts of the
// others are valid.
//
//	type BatchError struct {
//		Indexes []int   // of those messages, ascending
//		Errs    []error // one for each of them
//	}
type BatchError = message.BatchError
