package record

import (
	"time"

	"github.com/slotmq/go-rmq/message"
)

// Journal keeps outside of Redis what was sent, and what became of it. Its methods are called by
// several goroutines at a time, in the middle of the work, and must not block.
type Journal interface {
	// Ready is asked before a message is sent. An error refuses the send: nothing is stored.
	Ready() error

	// Sent is told what sends have stored, in the order in which each slot has it. The sends
	// are only valid until it returns; strings may be kept. It calls then once, at any time
	// and from any goroutine: their senders go on when it does, and get the error, if any.
	Sent(all []*Sends, then func(error))

	// Observer is told what becomes of messages. What settles a send is an item that is Done,
	// Died or Dropped in an event with a Fence above the send's Number; or one that is Cancelled,
	// if the send was before it, by both their times, and was told before. One that is Deleted settles nothing: it was dead.
	message.Observer
}

// Sends is what was sent to one slot by one command.
type Sends struct {
	Topic message.Topic // with the namespace in front of its name
	Slot  int

	// Number is the slot's, read behind the sends: a batch with a larger Fence has what they
	// stored, if it has the content at all. UnknownNumber if it could not be read.
	Number int64

	At    time.Time // by the clock of this process
	Items []SentItem
}

// UnknownNumber is above the Fence of every batch.
const UnknownNumber = 1<<53 - 1

// SentItem is one message of Sends.
type SentItem struct {
	Content string

	// Score is the priority, or when it is due in ms since 1970. With Keeps it counts only if no
	// equal message waits: else that one has kept its time.
	Score int64
	Keeps bool

	// Merged: it met an equal message that waits, and changed nothing of it.
	Merged bool

	// Note is its TTL in ms, 0 for none, and behind a space its headers as JSON. It is empty
	// without both.
	Note string
}
