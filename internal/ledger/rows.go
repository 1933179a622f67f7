package ledger

import (
	"crypto/sha256"

	"github.com/slotmq/go-rmq/message"
)

// What became of a message, as rmq_ended has it.
const (
	Done      = "done"
	Dead      = "dead"
	Dropped   = "dropped"   // by its batch: cancelled, or too late
	Cancelled = "cancelled" // by hand, while it waited
	Deleted   = "deleted"   // by hand, when it was dead
	Gone      = "gone"      // it was not in Redis: handled, and the report is lost

	Restored = "restored" // it was put back into Redis
	Adopted  = "adopted"  // it was in Redis, and not owed; its send is written beside

	Taken      = "taken"
	Failed     = "failed"
	Snoozed    = "snoozed"
	HandedBack = "handed back"
	Overtaken  = "overtaken"
)

// Hash is how a content is found: the first 16 bytes of its SHA-256.
type Hash [16]byte

// HashOf is the hash of a content.
func HashOf[T ~string | ~[]byte](content T) Hash {
	sum := sha256.Sum256([]byte(content))
	return Hash(sum[:16])
}

// Sent is a row of rmq_sent.
type Sent struct {
	ID      int64
	Number  int64 // of the slot, read behind the send
	At      int64 // ms
	Score   int64
	Keeps   bool
	Note    string
	Content string
	Writer  int64
}

// Ended is a row of rmq_ended.
type Ended struct {
	ID      int64
	Number  int64 // the fence of its batch; of Gone: the id of the newest send that was looked for
	At      int64 // ms
	What    string
	Attempt int
	Worker  string
	Host    string
	Reason  string
}

// Topic is a topic that the journal knows. Its Name has the namespace in front.
type Topic struct {
	message.Topic
	ID int64 // in rmq_topic
}

// History is what is known of one content in one slot.
type History struct {
	Slot    int
	Sent    []Sent // in order
	Ended   []Ended
	Verdict Verdict
}
