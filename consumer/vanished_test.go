package consumer

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

// Who starts a worker beside one that was killed is told for whom its slots wait, and until when.
func TestWhoVanishedIsNamed(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 4)
	until := time.Now().Add(6500 * time.Millisecond)
	killed := redis.Z{Member: "killed", Score: float64(until.UnixMilli())}
	must.Do(t, rdb.ZAdd(ctx, protocol.WorkersKey(topic.Name), killed).Err())
	core, log := observer.New(zap.WarnLevel)
	work(t, rdb, Config{Lease: 4 * time.Second, Logger: zap.New(core)}, topic, func(context.Context, *Delivery) error { return nil })
	var line map[string]any
	await.True(t, "it is named", func() bool {
		for _, l := range log.FilterMessage("a worker shows itself no more, and its slots wait").All() {
			line = l.ContextMap()
			if line["worker"] == "killed" {
				return true
			}
		}
		must.Do(t, rdb.ZAdd(ctx, protocol.WorkersKey(topic.Name), killed).Err()) // on a busy machine its time may be over
		return false
	})
	at, _ := line["until"].(time.Time)
	if fmt.Sprint(line["topic"], line["topics"]) != fmt.Sprint(topic.Name, 1) || at.UnixMilli() != until.UnixMilli() {
		t.Errorf("%v, wanted until %v", line, until)
	}
}
