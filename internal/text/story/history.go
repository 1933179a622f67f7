package story

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
)

// Sent is what a send is called among the ends.
const Sent = "sent"

// Event is one thing that happened to a message, as the journal has it.
type Event struct {
	ID   int64 // of its row
	At   time.Time
	What string
	Text string

	order int64 // ms by which it is shown
}

// Verdict says what has become of a message.
func Verdict(v ledger.Verdict) string {
	if v.What == ledger.Owed {
		return "owed, no end of it is known"
	}
	return v.What
}

// History are the rows of a content by their times. A send comes before what happened to it, also where the sender got its
// answer later than a worker took the message: the batch has a larger number then.
func (s Style) History(t message.Topic, h ledger.History) (all []Event) {
	for _, sent := range h.Sent {
		order := sent.At
		for _, e := range h.Ended {
			if sent.Number > 0 && e.Number > sent.Number && e.What != ledger.Gone {
				order = min(order, e.At)
			}
		}
		all = append(all, Event{sent.ID, time.UnixMilli(sent.At), Sent, s.sent(t, sent), order})
	}
	for _, e := range h.Ended {
		all = append(all, Event{e.ID, time.UnixMilli(e.At), e.What, ended(e), e.At})
	}
	later := func(x Event) int {
		if x.What == Sent {
			return 0
		}
		return 1
	}
	slices.SortFunc(all, func(x, y Event) int {
		return cmp.Or(cmp.Compare(x.order, y.order), cmp.Compare(later(x), later(y)), cmp.Compare(x.ID, y.ID))
	})
	return all
}

// sent says how a message was sent.
func (s Style) sent(t message.Topic, sent ledger.Sent) string {
	text := "with priority " + strconv.FormatInt(sent.Score, 10)
	switch {
	case t.Kind.Timed() && sent.Keeps:
		text = "due " + s.Moment(time.UnixMilli(sent.Score)) + ", or as an equal one that waited"
	case t.Kind.Timed():
		text = "due " + s.Moment(time.UnixMilli(sent.Score))
	}
	if ttl, _, _ := strings.Cut(sent.Note, " "); ttl != "" && ttl != "0" {
		if ms, err := strconv.ParseInt(ttl, 10, 64); err == nil {
			text += ", not handled any more after " + humantime.Duration(time.Duration(ms)*time.Millisecond)
		}
	}
	return text
}

// ended says who has ended a message, and why.
func ended(e ledger.Ended) string {
	var parts []string
	if e.Attempt > 0 {
		parts = append(parts, "attempt "+strconv.Itoa(e.Attempt))
	}
	if e.Worker != "" {
		parts = append(parts, "by "+words.Legible(protocol.HolderName(e.Worker)))
	}
	text := strings.Join(parts, ", ")
	if e.Reason != "" {
		text = strings.TrimPrefix(text+": "+words.Legible(e.Reason), ": ")
	}
	return text
}
