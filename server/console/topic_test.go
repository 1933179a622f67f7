package console

import (
	"testing"

	"github.com/slotmq/go-rmq/inspector"
)

// Counts that were taken one after the other do not make a bar negative.
func TestBucketsOf(t *testing.T) {
	t.Parallel()
	for _, b := range bucketsOf(inspector.Counts{Waiting: 4}, []int{5, 3, 3, 4}) {
		if b.Count < 0 || b.Part < 0 || b.Part > 100 {
			t.Errorf("%+v", b)
		}
	}
}
