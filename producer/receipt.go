package producer

import "time"

// Outcome is what a send did.
type Outcome uint8

// The outcomes.
const (
	// Accepted: stored or merged. Several messages shared one answer: see
	// Config.ExactReceipts. Or the message is Unique, the answer to a first try got lost, and
	// the second try was a duplicate: of the first one, or of an equal message.
	Accepted Outcome = iota
	// Stored: the content did not wait. A message in flight, waiting for its retry, or
	// dead does not count as waiting. (In literal topics of the Priority and FixedTime
	// kinds, one that waits for its retry does.)
	Stored
	// Merged: the content waited already. A RangeMerge keeps its first time, or has moved
	// it if it Extends; a Priority or FixedTime has taken the new priority or time.
	Merged
	// Duplicate: the message is Unique, and an equal Unique one was sent within its time.
	// Nothing is stored, and what waits stays as it is.
	Duplicate
)

// String returns "accepted", "stored", "merged" or "duplicate".
func (o Outcome) String() string {
	return [...]string{"accepted", "stored", "merged", "duplicate"}[o]
}

// Receipt of a message that was sent. If a reply got lost and the send was repeated, the
// message may have Merged with its own first try.
type Receipt struct {
	Outcome Outcome
	Slot    int // of the topic, to which the message belongs

	// Due is when the message is due, by the clock of the Redis server. It is zero for a
	// Priority and for a Duplicate. It is zero, too, for a RangeMerge without Extend that is not
	// known to be Stored: what it merged into keeps its own time.
	Due time.Time

	// Past: the At of the message had passed when it was sent. It is due now. See
	// Config.RefusePast. Of a Duplicate it says nothing.
	Past bool
}

// receipt says what became of a message whose flight is done.
func (k *ticket) receipt() (Receipt, error) {
	outcome, err := k.result(k.entry)
	r := Receipt{Outcome: outcome, Slot: k.slot, Past: k.past && outcome != Duplicate}
	if err == nil && k.kind.Timed() && k.knows(k.kind, int32(k.entry)) {
		r.Due = time.UnixMilli(k.scores[k.entry])
	}
	return r, err
}
