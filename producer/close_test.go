package producer

import (
	"context"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// A client that closes its consumer first may have used up the context by then.
// That is no reason to say that messages were not written when there are none.
func TestCloseWithNothingToWrite(t *testing.T) {
	t.Parallel()
	_, rdb := servertest.Memory(t)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for range 50 { // the error came by chance
		p, err := New(rdb, Config{})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := p.Close(ended); err != nil {
				t.Fatalf("Close with an ended context and nothing to write: %v", err)
			}
		}
	}
}
