package story

import (
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/message"
)

// A worker may tell the journal before the sender does, and clocks have milliseconds.
func TestOrderOfHistory(t *testing.T) {
	t.Parallel()
	var words []string
	for _, l := range (Style{}).History(message.Topic{Kind: message.KindPriority}, journal.History{
		Sent:  []journal.Sent{{ID: 3, At: 1000}, {ID: 5, At: 1002}},
		Ended: []journal.Ended{{ID: 1, At: 1000, What: "taken"}, {ID: 2, At: 1001, What: "failed"}, {ID: 4, At: 1002, What: "done"}},
	}) {
		words = append(words, l.What)
	}
	if got := strings.Join(words, " "); got != "sent taken failed sent done" {
		t.Error(got)
	}
}
