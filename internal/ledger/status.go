package ledger

import (
	"time"

	"github.com/slotmq/go-rmq/internal/record"
)

// Status is what the journal holds, and what it does not.
type Status struct {
	Since   time.Time // of the oldest row, and zero without any
	Gaps    []Gap     // what was not kept for want of room, in order
	Sent    int64     // rows of sends
	Ended   int64     // rows of what became of them
	Topics  []TopicStatus
	Writers []Writer
	Outbox  Outbox

	// Behind is how long the oldest row waits to be written that all of the living writers may
	// still hold: the time since the least of their last flushes. 0 if none lives.
	Behind time.Duration

	// Forgotten is what Redis has forgotten, by topics.
	Forgotten []record.Forgotten

	// Held is how many bytes this process holds in memory, and Trouble why, if SQL does not take them.
	Held    int
	Trouble error
}

// TopicStatus is what is owed of one topic.
type TopicStatus struct {
	Topic      string
	Owed, Dead int
}

// Gap is a time in which a process did not keep all rows.
type Gap struct {
	Writer         int64
	Begins, Ends   time.Time
	Sends, Endings int64
}

// Writer is a process that has written.
type Writer struct {
	ID             int64
	Host           string
	Began, Flushed time.Time
	Closed         time.Time // zero while it has not said that it ends
	Alive          bool      // it has not ended, and has flushed lately
}

// Outbox is what waits to be sent of transactions that have committed.
type Outbox struct {
	Waiting int64
	Since   time.Time // of the oldest row that waits; zero without any

	// Refused rows are not sent any more: their message, or the definition of its topic, is
	// refused whenever it is sent. Reason is why, of the oldest of them. They stay in rmq_outbox, with
	// the reason in the column refused: delete them, or set that to '' and they are sent again.
	Refused int64
	Reason  string
}

// Compacted is what Compact has deleted.
type Compacted struct{ Sent, Ended, Once, Gaps, Writers int64 }
