package producer

import (
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// One batch gives a content a priority and then another one, in two commands of a
// pipeline, since much lies between. The server becomes writable between the two: so
// the first is repeated after the second, and wins.
func TestLastWinsAcrossARetry(t *testing.T) {
	for name, cfg := range map[string]Config{"plain": {}, "script": {MaxWaiting: 1000}} {
		t.Run(name, func(t *testing.T) {
			server := servertest.Redis(t)
			direct := server.Client(t)
			proxy := servertest.NewProxy(t, server.Addr())
			topic := topicOf(t, message.KindPriority)
			topic.Slots = 1
			p := newProducer(t, proxy.Client(t), cfg)
			mustSend(t, p, topic, message.Priority{Content: "before", Priority: 17})
			p.idle.Wait()
			big := strings.Repeat("b", 200<<10)
			ms := []message.Message{message.Priority{Content: "x", SlotBasis: "s", Priority: 17}}
			for _, c := range "123456789abcdefghi" {
				ms = append(ms, message.Priority{Content: string(c) + big, SlotBasis: "s", Priority: 17})
			}
			ms = append(ms, message.Priority{Content: "x", SlotBasis: "s", Priority: 18})
			pieces := 0
			if cfg.MaxWaiting > 0 {
				direct.ScriptFlush(ctx)
			} else {
				direct.Do(ctx, "replicaof", "127.0.0.1", "1")
			}
			proxy.OnRequest(func(b []byte) bool {
				if pieces++; pieces == 30 { // of 64 KiB at the most; the first command is 1 MiB long
					if cfg.MaxWaiting > 0 { // another producer brings the script back
						q := newProducer(t, direct, cfg)
						mustSend(t, q, message.Topic{Name: topic.Name + "q", Kind: topic.Kind, Slots: 1}, message.Priority{Content: "q", Priority: 17})
					} else { // it is promoted
						direct.Do(ctx, "replicaof", "no", "one")
					}
				}
				return true
			})
			if _, err := p.SendBatch(ctx, topic, ms); err != nil {
				t.Fatal(err)
			}
			if got := direct.ZScore(ctx, luascripts.StoreKey(topic.Name, 0), "x").Val(); got != 18 {
				t.Errorf("the last priority in the batch is 18, and %v is stored", got)
			}
		})
	}
}
