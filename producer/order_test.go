package producer

import (
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// One batch gives a content a priority and then another one, in two commands of a
// pipeline, since much lies between. The server becomes writable between the two: so
// the first is repeated after the second, and wins.
func TestLastWinsAcrossARetry(t *testing.T) {
	t.Parallel()
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
			if got := direct.ZScore(ctx, protocol.StoreKey(topic.Name, 0), "x").Val(); got != 18 {
				t.Errorf("the last priority in the batch is 18, and %v is stored", got)
			}
		})
	}
}

// Likewise where each send moves what waits: the last one counts, and it is the script that is repeated.
func TestLastMovesAcrossARetry(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	direct := server.Client(t)
	proxy := servertest.NewProxy(t, server.Addr())
	topic := topicOf(t, message.KindRangeMerge)
	topic.Slots = 1
	p := newProducer(t, proxy.Client(t), Config{})
	extends := func(content string, wait time.Duration) message.Message {
		return message.RangeMerge{Content: content, SlotBasis: "s", Range: wait, Extend: true, Ceiling: 24 * time.Hour}
	}
	mustSend(t, p, topic, extends("before", time.Hour))
	p.idle.Wait()
	big := strings.Repeat("b", 200<<10)
	ms := []message.Message{extends("x", 2*time.Hour)}
	for _, c := range "123456789abcdefghi" {
		ms = append(ms, extends(string(c)+big, time.Hour))
	}
	ms = append(ms, extends("x", time.Hour))
	direct.ScriptFlush(ctx)
	pieces := 0
	proxy.OnRequest(func([]byte) bool {
		if pieces++; pieces == 30 { // of 64 KiB at the most; the first command is 1 MiB long
			q := newProducer(t, direct, Config{}) // another producer brings the script back
			mustSend(t, q, message.Topic{Name: topic.Name + "q", Kind: topic.Kind, Slots: 1}, extends("q", time.Hour))
		}
		return true
	})
	receipts, err := p.SendBatch(ctx, topic, ms)
	if err != nil {
		t.Fatal(err)
	}
	now := direct.Time(ctx).Val()
	if in := time.UnixMilli(int64(direct.ZScore(ctx, protocol.StoreKey(topic.Name, 0), "x").Val())).Sub(now); in > time.Hour+time.Millisecond {
		t.Errorf("the last one is due in an hour, and what is stored in %v: %+v", in, receipts[len(ms)-1])
	}
}
