package journal

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/slotmq/go-rmq/message"
)

// counter is the name of the row of rmq_state that numbers the rows of all tables.
const counter = "id"

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

// ends are the words for the items of events that are the end of a message.
var ends = map[message.What]string{
	message.Done: Done, message.Died: Dead, message.Dropped: Dropped, message.Cancelled: Cancelled, message.Deleted: Deleted,
}

// flow are the words for what happens on the way.
var flow = map[message.What]string{
	message.Taken: Taken, message.Failed: Failed, message.Snoozed: Snoozed, message.HandedBack: HandedBack, message.Overtaken: Overtaken,
}

// Hash is how a content is found: the first 16 bytes of its SHA-256.
type Hash [16]byte

// HashOf is the hash of a content.
func HashOf(content string) Hash { return hashOf([]byte(content)) }

func hashOf(content []byte) Hash {
	sum := sha256.Sum256(content)
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

// definition is what rmq_topic keeps of a topic besides its name.
type definition struct {
	Kind    string `json:"kind"`
	Literal bool   `json:"literal"`
	Notes   bool   `json:"notes"`
	Slots   int    `json:"slots"`
}

func definitionOf(t message.Topic) string {
	text, _ := json.Marshal(definition{t.Kind.String(), t.Literal, t.Notes, t.Slots}) // never an error
	return string(text)
}

// topicOf reads a row of rmq_topic.
func topicOf(name, text string) (message.Topic, error) {
	var d definition
	err := json.Unmarshal([]byte(text), &d)
	kind, _ := message.ParseKind(d.Kind)
	t := message.Topic{Name: name, Kind: kind, Slots: d.Slots, Literal: d.Literal, Notes: d.Notes}
	if err == nil {
		err = t.Validate()
	}
	if err != nil {
		return t, fmt.Errorf("rmq_topic has %q for topic %s, which this program cannot read: %w", text, name, err)
	}
	return t, nil
}

// plain makes a text one that every database takes.
func plain(text string) string {
	for i := range len(text) {
		if c := text[i]; c == 0 || c >= 0x80 {
			return strings.ReplaceAll(strings.ToValidUTF8(text, "�"), "\x00", "�")
		}
	}
	return text
}

func itoa(n int) string { return strconv.Itoa(n) }
