package producer

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// The first try is stored and its reply lost. Before the second try a worker has
// taken the message, and others fill the slot: the refusal of the second try says
// nothing about the first.
func TestFullAfterALostReplyIsUncertain(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	direct := server.Client(t)
	proxy := servertest.NewProxy(t, server.Addr())
	topic := topicOf(t, message.KindPriority)
	topic.Slots = 1
	key := protocol.StoreKey(topic.Name, 0)
	p := newProducer(t, proxy.Client(t), Config{MaxWaiting: 1})
	mustSend(t, p, topic, message.Priority{Content: "first", Priority: 17})
	p.idle.Wait()
	direct.Del(ctx, key)
	stored := false
	lost := proxy.LoseNextReply("evalsha")
	tries := 0
	proxy.OnRequest(func(b []byte) bool {
		if strings.Contains(string(b), "evalsha") {
			if tries++; tries == 2 {
				stored = direct.ZScore(ctx, key, "x").Val() == 17
				direct.ZRem(ctx, key, "x")
				direct.ZAdd(ctx, key, redis.Z{Score: 17, Member: "another"})
			}
		}
		return true
	})
	_, err := p.Send(ctx, topic, message.Priority{Content: "x", Priority: 17})
	<-lost
	if !stored {
		t.Fatal("the test did not do what it says")
	}
	if errors.Is(err, ErrQueueFull) && !errors.Is(err, ErrUncertain) {
		t.Errorf("it was stored and taken, and is told as not stored: %v", err)
	}
}
