package producer

// Outcome is what a send did.
type Outcome uint8

// The outcomes.
const (
	// Accepted: stored or merged. Several messages shared one answer; see
	// Config.ExactReceipts.
	Accepted Outcome = iota
	// Stored: the content did not wait. One in flight, waiting for its retry, or
	// dead does not count as waiting (but in literal topics of the Priority and
	// FixedTime kinds, one that waits for its retry does).
	Stored
	// Merged: the content waited already. A RangeMerge keeps its first time; a
	// Priority or FixedTime has taken the new priority or time.
	Merged
)

// String returns "accepted", "stored" or "merged".
func (o Outcome) String() string {
	return [...]string{"accepted", "stored", "merged"}[o]
}

// Receipt of a message that was sent. After a reply got lost and the send was
// repeated, Merged may mean: with the first try of this very message.
type Receipt struct {
	Outcome Outcome
	Slot    int // of the topic, in which the message waits
}
