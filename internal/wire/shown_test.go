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
		for of, want := range map[any]bool{&c.part: true, &c.whole: false} {
			text, err := json.Marshal(of)
			if err != nil || strings.Contains(string(text), c.mark) != want {
				t.Errorf("%s, %v", text, err)
			}
		}
	}
}
