package consumer

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// A slot whose holder can be proven neither dead nor alive stands still until a person
// acts. So a person is told, once and not with every question.
func TestDeathThatCannotBeProvenIsTold(t *testing.T) {
	t.Parallel()
	rdb, zks := shared(t), servertest.ZooKeeper(t)
	topic := topicOf(t, message.KindPriority, 2)
	how := sharedBy(t, zks, time.Second)
	how.OnOutage = slots.Coast
	core, logs := observer.New(zap.WarnLevel)
	c := work(t, rdb, Config{Slots: slots.ZooKeeper(how), Logger: zap.New(core)}, topic, newNotes().done())
	eventually(t, "it has all slots", func() bool { return owned(c) == 2 })
	zks.Kill()
	keys := keysOf(topic, 0)
	must(t, rdb.ZAdd(ctx, keys.Prepare, redis.Z{Score: float64(time.Now().Unix()*1000 + 16), Member: "in flight"}).Err())
	must(t, rdb.HSet(ctx, keys.Meta, "holder", "ghost", "batch", time.Now().UnixMilli(), "until", 0, "lease", 0).Err())
	s := newSender(t, rdb, topic)
	_, err := s.Send(ctx, topic, message.Priority{Content: "behind it", SlotBasis: basisOf(topic)[0], Priority: 100})
	must(t, err)

	const line = "it is not known whether the holder of a slot is dead"
	told := func() (n int) {
		for _, entry := range logs.All() {
			if strings.HasPrefix(entry.Message, line) {
				n++
			}
		}
		return n
	}
	eventually(t, "a warning", func() bool { return told() > 0 })
	doubt, _ := c.crew.fleet.(*byZooKeeper).suspects.Load("ghost")
	eventually(t, "more questions", func() bool {
		d := doubt.(*suspicion)
		if d.asking.Swap(true) {
			return false // a question is being asked
		}
		defer d.asking.Store(false)
		return d.tries >= 2*failuresAllowed
	})
	if n := told(); n != 1 {
		t.Errorf("it is told %d times", n)
	}
	zks.Restart(t)
	s.send(t, "afterwards")
	eventually(t, "the batch is taken over when ZooKeeper is back", func() bool {
		return rdb.ZCard(ctx, keys.Prepare).Val() == 0
	})
}

// A person is told after some questions without an answer, and again after a while, not with
// each of them.
func TestWhenAPersonIsTold(t *testing.T) {
	t.Parallel()
	var d suspicion
	begun := time.Now()
	for i, at := range []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second, sayAgain, sayAgain + 2*time.Second, sayAgain + 3*time.Second} {
		want := i+1 == failuresAllowed || at == sayAgain+2*time.Second
		if d.failed(begun.Add(at)) != want {
			t.Errorf("question %d, after %v: told is %t", i+1, at, !want)
		}
	}
}
