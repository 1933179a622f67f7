package producer

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// Many goroutines send at once. Every message must be in the set of its slot,
// with its own score, and nothing else may be there.
func TestStorm(t *testing.T) {
	t.Parallel()
	const senders = 64
	stormMessages := night.Times(20_000, 1_000_000)
	rdb := servertest.Redis(t).Client(t)
	p := newProducer(t, rdb, Config{})
	topic := message.Topic{Name: "storm", Kind: message.KindPriority, Slots: 16}
	var wrong atomic.Int64
	var all sync.WaitGroup
	begin := time.Now()
	for sender := range senders {
		all.Go(func() {
			for n := sender; n < stormMessages; n += senders {
				content := strconv.Itoa(n)
				r, err := p.Send(ctx, topic, message.Priority{Content: content, Priority: int64(17 + n)})
				if err != nil || r.Outcome != Stored || r.Slot != slots.Of(content, 16) {
					wrong.Add(1)
					t.Errorf("message %d: %v, %v", n, r, err)
					return
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d messages sent by %d goroutines in %v", stormMessages, senders, time.Since(begin).Round(time.Millisecond))
	got := waiting(t, rdb, topic)
	if len(got) != stormMessages {
		t.Errorf("%d contents are stored, want %d", len(got), stormMessages)
	}
	for n := range stormMessages {
		if got[strconv.Itoa(n)] != float64(17+n) {
			t.Fatalf("message %d has score %v", n, got[strconv.Itoa(n)])
		}
	}
}
