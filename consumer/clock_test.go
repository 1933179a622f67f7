package consumer

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// The server's clock is set forward by an hour while a slot sleeps until its
// message is due: the next safety look notices.
func TestServerClockIsSetForward(t *testing.T) {
	t.Parallel()
	memory, rdb := servertest.Memory(t)
	now := time.Now()
	memory.SetTime(now)
	topic, n := topicOf(t, message.KindFixedTime, 2), newNotes()
	work(t, rdb, Config{SafetyLook: 20 * time.Millisecond}, topic, n.done())
	s := newSender(t, rdb, topic)
	if _, err := s.Send(ctx, topic, message.FixedTime{Content: "in an hour", At: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	memory.SetTime(now.Add(time.Hour + time.Second))
	n.awaitAll(t, []string{"in an hour"})
}
