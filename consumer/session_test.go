package consumer

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// A slot whose holder can be proven neither dead nor alive stands still until a person
// acts. So the log warns, once and not with every question.
func TestDeathThatCannotBeProvenIsTold(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 2)
	how, network := cutFrom(t, 3*time.Second)
	how.OnOutage = slots.Coast
	core, logs := observer.New(zap.DebugLevel)
	c := work(t, rdb, Config{Slots: slots.ZooKeeper(how), Logger: zap.New(core)}, topic, newNotes().done())
	await.True(t, "it has all slots", func() bool { return owned(c) == 2 })
	network.Cut()
	keys := keysOf(topic, 0)
	must.Do(t, rdb.ZAdd(ctx, keys.Prepare, redis.Z{Score: float64(time.Now().Unix()*1000 + 16), Member: "in flight"}).Err())
	must.Do(t, rdb.HSet(ctx, keys.Meta, "holder", "ghost", "batch", time.Now().UnixMilli(), "until", 0, "lease", 0).Err())
	s := newSender(t, rdb, topic)
	_, err := s.Send(ctx, topic, message.Priority{Content: "behind it", SlotBasis: basisOf(topic)[0], Priority: 100})
	must.Do(t, err)

	const line = "it is not known whether the holder of a slot is dead"
	told := func(least zapcore.Level) (n int) {
		for _, entry := range logs.All() {
			if strings.HasPrefix(entry.Message, line) && entry.Level >= least {
				n++
			}
		}
		return n
	}
	await.True(t, "many questions without an answer", func() bool { return told(zap.DebugLevel) >= 5 })
	if n := told(zap.WarnLevel); n != 1 {
		t.Errorf("a person is told %d times", n)
	}
	network.Mend()
	s.send(t, "afterwards")
	await.True(t, "the batch is taken over when ZooKeeper is back", func() bool {
		return rdb.ZCard(ctx, keys.Prepare).Val() == 0
	})
}
