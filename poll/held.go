package poll

import (
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// Held is a batch that was taken.
type Held struct {
	Topic   message.Topic
	Slot    int
	Fence   int64 // only grows within the slot, for what you write elsewhere
	Attempt int   // of each message, from 1 to 17

	// Until is when another one may be given the messages, unless the batch is finished or extended before. It
	// is by the clock of this process, and counted from before the batch was asked for.
	Until time.Time

	// Receipt is what Finish and Extend need, at any process. Who has it may do both, so keep it secret.
	Receipt string

	// LastError is why the delivery before this one failed, of a retry.
	LastError string

	Messages []Message // all first deliveries, or one retry alone

	receipt *receipt
	all     []string // the contents, in the order of their bytes, also of those that come too late
}

// Last reports whether the messages are dead if this delivery fails.
func (h *Held) Last() bool { return verdict.Last(h.Attempt, limits.Deliveries) }

// Message is one message of a batch.
type Message struct {
	Content  string
	Priority int64     // in topics with priorities; 0 if it is not known
	Due      time.Time // in the others, of a first delivery

	// In a topic with Notes: how many sends have merged into it, when the first and the last of them were, when its
	// time to live is over, and the headers of the newest that had any. See rmq.Delivery.
	Sends               int
	FirstSent, LastSent time.Time
	Expires             time.Time
	Headers             map[string]string
}

// newHeld is what the taker gets of an answer.
func newHeld(r *receipt, a *protocol.Answer, until time.Time) *Held {
	h := &Held{Topic: r.topic, Slot: r.slot, Fence: r.fence, Attempt: r.attempt, Until: until, receipt: r}
	why, failed := a.Failure()
	h.LastError = why.Reason
	for i, content := range a.Contents {
		m := Message{Content: content, Priority: a.Priority(i), Due: a.Due(i)}
		if failed && !r.topic.Kind.Timed() {
			m.Priority = why.Priority
		}
		h.Messages = append(h.Messages, m)
	}
	return h
}

// seal writes the receipt, in which some messages came too late.
func (h *Held) seal(late map[string]bool) {
	r := h.receipt
	for _, m := range slices.SortedFunc(slices.Values(h.Messages), func(a, b Message) int { return strings.Compare(a.Content, b.Content) }) {
		r.items, h.all = append(r.items, item{score: m.score(), expired: late[m.Content]}), append(h.all, m.Content)
	}
	h.Receipt = r.String()
}

// score is the priority or the due time of a message.
func (m *Message) score() int64 {
	if m.Due.IsZero() {
		return m.Priority
	}
	return m.Due.UnixMilli()
}
