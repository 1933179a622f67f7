package story

import (
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/message"
)

// A worker may report to the journal before the sender does, and may handle a message before the sender has its
// answer.
func TestOrderOfHistory(t *testing.T) {
	t.Parallel()
	var words []string
	for _, l := range (Style{}).History(message.Topic{Kind: message.KindPriority}, ledger.History{
		Sent:  []ledger.Sent{{ID: 3, At: 1000}, {ID: 5, At: 1002}},
		Ended: []ledger.Ended{{ID: 1, At: 1000, What: "taken"}, {ID: 2, At: 1001, What: "failed"}, {ID: 4, At: 1002, What: "done"}},
	}) {
		words = append(words, l.What)
	}
	if got := strings.Join(words, " "); got != "sent taken failed sent done" {
		t.Error(got)
	}
	words = nil
	for _, l := range (Style{}).History(message.Topic{Kind: message.KindPriority}, ledger.History{
		Sent: []ledger.Sent{{ID: 3, At: 1004, Number: 5001}, {ID: 8, At: 1009, Number: 6001}},
		Ended: []ledger.Ended{
			{ID: 9, At: 999, What: "done", Number: 5000}, {ID: 1, At: 1000, What: "taken", Number: 5002}, {ID: 2, At: 1001, What: "done", Number: 5002},
			{ID: 4, At: 1002, What: "gone", Number: 9000}, {ID: 5, At: 1007, What: "taken", Number: 6002},
		},
	}) {
		words = append(words, l.What)
	}
	if got := strings.Join(words, " "); got != "done sent taken done gone sent taken" {
		t.Error(got)
	}
}
