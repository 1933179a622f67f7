package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/inspector"
)

// What is only part of the truth says so, and what is whole says nothing.
func TestPartsAreMarked(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		part, whole any
		mark        string
	}{
		{ReasonOf("orders", inspector.Reason{Cut: true}, false), ReasonOf("orders", inspector.Reason{}, false), `"latest_cut":true`},
		{WorkerOf(inspector.Worker{Unlisted: true}, false), WorkerOf(inspector.Worker{Leaving: true, Taker: true}, false), `"unlisted":true`},
	} {
		part, err := json.Marshal(c.part)
		whole, err2 := json.Marshal(c.whole)
		if err != nil || err2 != nil || !strings.Contains(string(part), c.mark) || strings.Contains(string(whole), c.mark) {
			t.Errorf("%s, %v; %s, %v", part, err, whole, err2)
		}
	}
}
