package note

import (
	"testing"

	"github.com/slotmq/go-rmq/internal/record"
)

// Nothing is known of a message without a note, and of one whose note cannot be read; only the second has something to forget.
func TestNothingIsKnown(t *testing.T) {
	t.Parallel()
	for i, n := range Parse("shop:orders", 7, []any{nil, "no note"}) {
		if n.Kept() != (i == 1) || n.Known() != nil || !n.Expires().IsZero() {
			t.Errorf("note %d: kept %v, known %v", i, n.Kept(), n.Known())
		}
		var c record.Copy
		if n.Sign(&c); c.Topic.Name != "shop:orders" || c.Number != 0 || c.Sends != 0 {
			t.Errorf("note %d: %+v", i, c)
		}
	}
	var none *Note
	if none.Known() != nil || !none.Expires().IsZero() {
		t.Error("something is known of no note")
	}
}
