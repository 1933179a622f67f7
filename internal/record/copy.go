package record

import "github.com/slotmq/go-rmq/message"

// Copy says which copy of a message a delivery is about, for whoever has to know whether that copy was
// handled before. Only a topic with Notes knows it.
type Copy struct {
	Topic   message.Topic // with the namespace in front of its name
	Slot    int
	Content string
	Attempt int
	Fence   int64
	Sends   CopySends

	// Number is that of the slot at the last send which merged into the copy, if Sends is
	// SendsKnown. Every batch with the copy has a larger Fence, and every batch with an
	// earlier copy a Fence that is not larger.
	Number int64
}

// CopySends says what is known of the sends of a copy.
type CopySends uint8

const (
	// SendsUnknown: nobody keeps when it was sent: a plan did, or it was dead and requeued, or Redis has
	// lost it.
	SendsUnknown CopySends = iota
	// SendsKnown: Number says it.
	SendsKnown
	// SendsNewer: its content was sent again since this copy was taken.
	SendsNewer
)
