package message

import "time"

// Event is what has happened to messages of one slot, in the process that reports it. But for
// Probing it is about one answer of Redis, and comes after that answer is definite: what is not known to
// have happened is not reported.
type Event struct {
	Topic Topic // with the namespace in front of its name
	Slot  int

	// Fence of the batch; 0 for what a producer reports.
	Fence int64

	// Worker is the id of the worker; empty for what a producer reports, and for what a worker
	// sends because a plan says so: that is a send like any other.
	Worker string

	// At is when the answer came, by the clock of this process. Took is how long the answer
	// took: since a producer began to write, repetitions included, or since a worker last
	// asked. It is 0 for Moved and Probing.
	At   time.Time
	Took time.Duration

	// Merged is how many of the messages sent met an equal one that waited. It is exact
	// also where no item is Merged, because several sends shared one answer.
	Merged int

	Items []Item
}

// Item is one message of an event.
type Item struct {
	What    What
	Content string // empty for Moved and Probing

	// Score is the priority, or when it is due in ms since 1970. 0 if it is not known: a
	// worker knows times with ListenOptions.Due only, and the one of a retry never.
	Score int64

	// Attempt is the delivery that this is about, from 1; 0 for what a producer reports.
	Attempt int

	// Took is how long the handler had it. 0 for one that was in no handler.
	Took time.Duration

	// In is after how long it is delivered again, of one that is Failed or Snoozed.
	In time.Duration

	// Reason is why it failed, died, was snoozed, dropped, refused or overtaken. Of Moved:
	// "gained" or "left". Of Probing: "began" or "ended".
	Reason string

	// Err is the error behind the reason, for errors.Is: of the send that was refused, or
	// what the listener returned, together with the cause if its context had ended. nil if
	// there is none.
	Err error
}

// What is what has happened to a message.
type What uint8

// What a producer reports.
const (
	// Sent: Redis has it. It was stored or it merged.
	Sent What = iota + 1
	// Merged: it was sent, and it is known that it met an equal one that waited.
	Merged
	// Refused: it was to be written, and the send has failed. Err says how: it is not
	// stored, or that is not known (ErrUncertain), or too few replicas have it (ErrNotReplicated).
	Refused
	// Duplicate: it is Unique, and an equal one was sent within its time. Nothing is stored.
	Duplicate
)

// What a worker reports. Failed, Died, Snoozed and HandedBack say what the worker asked for. If
// the content was sent again while the message was in flight, Redis drops the old copy instead:
// it is not among the dead, and what is delivered is the new one, when that is due, as attempt
// 1. No event says which of the two it was.
const (
	// Taken: the worker has it. Each item of a batch is taken before anything else of it.
	Taken What = iota + 10
	// Done: it was handled, and Redis has let go of it.
	Done
	// Failed: the delivery has failed, and another one follows, of this copy or the new one.
	Failed
	// Died: it failed for the last time, or was given up. It is among the dead, unless there
	// is a new copy. One whose last worker died is in no event. A Client's ListenDead is about
	// what is dead in Redis.
	Died
	// Snoozed: its handler wanted it later. The delivery does not count.
	Snoozed
	// Dropped: it is gone without being handled to its end: cancelled, or too late.
	Dropped
	// HandedBack: it was taken, and not begun, pushed back by its handler, or ended by Close. The
	// delivery does not count.
	HandedBack
	// Overtaken: what this worker made of it may not count. Another worker was given the
	// batch, or may have been, or Redis has forgotten it: Reason says which. If the message
	// comes again, the worker that gets it reports what becomes of it.
	Overtaken
	// Moved: the slot has come to this worker, or left it. No message is named.
	Moved
	// Probing: every message of the topic fails, so this worker only tries one now and then; or
	// that is over, or the worker is. No message is named, and Event.Slot is -1.
	Probing
)

// What a program does by hand. Only a Journal is told, in events without a Fence.
const (
	// Cancelled: it waited, and a program cancelled it.
	Cancelled What = iota + 30
	// Deleted: it was dead, and a program deleted it.
	Deleted
)

// String returns the word for it, such as "done" or "handed back".
func (w What) String() string {
	switch w {
	case Sent:
		return "sent"
	case Merged:
		return "merged"
	case Refused:
		return "refused"
	case Duplicate:
		return "duplicate"
	case Taken:
		return "taken"
	case Done:
		return "done"
	case Failed:
		return "failed"
	case Died:
		return "died"
	case Snoozed:
		return "snoozed"
	case Dropped:
		return "dropped"
	case HandedBack:
		return "handed back"
	case Overtaken:
		return "overtaken"
	case Moved:
		return "moved"
	case Probing:
		return "probing"
	case Cancelled:
		return "cancelled"
	case Deleted:
		return "deleted"
	}
	return "unknown"
}

// Observer sees what happens to messages.
//
// Observe is called by the goroutine that has the news, several at a time, so it must be
// safe for that and must not block: a slow observer slows the queue. The event and its
// items are only valid until it returns; strings may be kept. A panic in it is logged, and
// so is an end of its goroutine, by t.FailNow for example; the queue goes on.
type Observer interface {
	Observe(e *Event)
}

// ObserverFunc is a function that is an Observer.
type ObserverFunc func(e *Event)

// Observe calls f.
func (f ObserverFunc) Observe(e *Event) { f(e) }
