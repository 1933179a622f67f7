package inspector

import (
	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/inspector/internal/who"
)

// Topic is a topic as it is defined in Redis.
//
//	type Topic struct {
//		message.Topic
//		Sharing   string    // how workers share its slots: "redis", "zookeeper", or empty: no worker has started yet
//		Created   time.Time // zero: it is not known
//		Namespace string    // that its programs use; if none is stored, that of the inspector
//		Foreign   bool      // Namespace is not the inspector's, so it cannot see the topic's workers in ZooKeeper
//	}
type Topic = ask.Topic

// PartialError says what could not be looked at: a key of a wrong type, say, or the slots of
// a Cluster's master that does not answer. It comes together with a result, which has all the
// rest:
//
//	stats, err := i.Stats(ctx, "orders")
//	var partial *inspector.PartialError
//	if errors.As(err, &partial) {
//		// stats are those of the other slots
//	}
//
// Methods that change messages return no such result, only the error. So does every method if
// nothing at all can be read, for example because the only server does not answer.
//
//	type PartialError struct {
//		Failures []Failed // at least one
//	}
type PartialError = ask.PartialError

// Failed is a slot or a topic that could not be looked at.
//
//	type Failed struct {
//		Topic  string
//		Slot   int    // -1: what is stored of the topic as a whole, such as its definition or its workers
//		Server string // the master that does not answer; empty: it does
//		Err    error
//	}
type Failed = ask.Failed

// Running is a handler that has run for 5 s or more: its worker says so a few seconds later, and until a minute after it was
// last seen alive. Of handlers that end before nothing is known.
//
//	type Running struct {
//		Topic   string
//		Slot    int
//		Worker  string
//		Since   time.Time
//		Timeout time.Duration // after which the handler's context is cancelled
//		Content string        // of the message that it handles, or the first of several; 200 bytes at most
//		Count   int           // how many messages of the batch are handled, in one call or at the same time
//	}
type Running = who.Running
