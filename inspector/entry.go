package inspector

import (
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/message"
)

// State is where a message is.
type State string

// The states.
const (
	Waiting  State = "waiting"   // for its first delivery
	InFlight State = "in-flight" // a worker has it
	Retrying State = "retrying"  // failed, and waits for its next attempt; in a priority topic also put back by its handler
	Dead     State = "dead"      // given up on
)

// Entry is one message where it is.
type Entry struct {
	Content  string
	Slot     int
	State    State
	Due      time.Time // waiting (not in priority topics) or retrying; zero while retrying in a literal topic: at once
	Priority int64     // in priority topics: of one that waits, or was put back by its handler
	Attempt  int       // the one in flight, or the next one: 1 is the first delivery; 0 for dead
	Died     time.Time // dead
	Failure  *Failure  // why it died, from Dead; nil: nothing is known
}

// entryOf is the message that has a score in a state.
func entryOf(t Topic, slot int, state State, content string, score int64) Entry {
	e := Entry{Content: content, Slot: slot, State: state}
	switch {
	case state == Waiting && !t.Kind.Timed():
		e.Priority, e.Attempt = score, 1
	case state == Waiting:
		e.Due, e.Attempt = time.UnixMilli(score), 1
	case state == InFlight:
		e.Attempt = message.MaxRetries + 1 - int(score%1000)
	case state == Retrying && score <= message.MaxRetries: // in the store
		e.Attempt = afterRetries(int(score))
	case state == Retrying:
		e.Due, e.Attempt = time.UnixMilli(score/100), afterRetries(int(score%100))
	case state == Dead:
		e.Died = time.UnixMilli(score)
	}
	return e
}

// afterRetries is the attempt that comes next when so many retries are left. What is more than
// there can be marks a first delivery.
func afterRetries(left int) int { return max(1, message.MaxRetries+2-left) }

// Failure is what is known about the failures of a message since it was sent.
type Failure struct {
	Attempts    int
	First, Last time.Time
	Priority    int64  // it was sent with; 0: not known, or not in a priority topic
	Worker      string // that reported or lost the last delivery
	Reason      string // of the last failure
}

// failure is what the scripts know of a failure, or nil.
func failure(why *protocol.Failure) *Failure {
	if why == nil || why.PutBack() {
		return nil
	}
	return &Failure{
		Attempts: why.Attempts, First: why.First, Last: why.Last,
		Priority: why.Priority, Worker: why.Worker, Reason: why.Reason,
	}
}

// PutBack is what is known about a message whose first delivery its handler has put back, by
// rmq.Later. A retry that is put back keeps its [Failure] instead.
type PutBack struct {
	First, Last time.Time // when it was
	Worker      string
	Reason      string // what the handler said, the last time
}

// putBack is what the scripts know of a message that was put back, or nil.
func putBack(why *protocol.Failure) *PutBack {
	if why == nil || !why.PutBack() {
		return nil
	}
	return &PutBack{First: why.First, Last: why.Last, Worker: why.Worker, Reason: why.Reason}
}

// Note is what is known of the sends that merged into a message, in a topic with Notes.
type Note struct {
	Sends       int
	First, Last time.Time
	Expires     time.Time         // it is not handled from then on; zero: it has no time to live
	Headers     map[string]string // of the newest send that had any
}

// noteOf is a note that the scripts have found, or nil.
func noteOf(n *protocol.Note) *Note {
	if n == nil {
		return nil
	}
	x := &Note{Sends: int(n.Sends), First: time.UnixMilli(n.First), Last: time.UnixMilli(n.Last), Headers: n.Headers}
	if n.Expires > 0 {
		x.Expires = time.UnixMilli(n.Expires)
	}
	return x
}

// Flight is a batch in flight.
type Flight struct {
	Worker    string
	Since     time.Time // to the second
	Attempt   int
	LeaseEnds time.Time // zero: ZooKeeper judges the worker
	Batch     int       // how many contents are in it
	Running   *Running  // what the handler has run for long; nil: nothing, or it is not known
	Runs      bool      // Running is about the message that is explained, and not about another one of the batch
}

// Explanation is all that is known about one message in one slot, as of one moment. It may be
// in several places: a new copy waits while an older one is in flight, waits for its
// retry, or is dead.
type Explanation struct {
	Topic   Topic
	Content string
	Slot    int
	Now     time.Time // the server's
	Waiting *Entry    // nil: no first delivery waits
	Before  int       // if Waiting: how many of the slot go before it for certain
	Beside  int       // if Waiting: how many more may, because they have the same priority
	Flight  *Flight   // nil: it is not in flight
	Retry   *Entry    // nil: it waits for no retry. Attempt 1: for its first delivery, since it was put back
	Dead    *Entry    // nil: it is not dead
	Failure *Failure  // nil: nothing is known of a failure
	PutBack *PutBack  // nil: its handler has not put it back
	Note    *Note     // of the copy that waits, also for its retry, or else of the one in flight; nil: nothing is known
	Unique  time.Time // until when an equal message that is sent as a unique one is a duplicate; zero: it is none

	// WaitsFor says in words what must happen before it is delivered, such as "its time,
	// in 4m10s". Empty if nothing must, or it does not wait.
	WaitsFor []string
}
