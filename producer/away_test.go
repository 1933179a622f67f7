package producer

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servertest"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// A master stands still with sends under way until its replica has taken over. When
// it goes on it acknowledges them, and the next ones, before it hears of that; then it
// throws them away. None of those counts: what was acknowledged is there.
func TestAnswersOfAMasterThatWasAway(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 3, 1)
	// Answers are waited for as long as it takes: the late ones are what counts here.
	rdb := cluster.Client(t, func(o *redis.ClusterOptions) { o.ReadTimeout = time.Minute })
	p, topic := newProducer(t, rdb, Config{}), message.Topic{Name: "away", Kind: message.KindPriority, Slots: 1}
	mustSend(t, p, topic, message.Priority{Content: "first", Priority: 17})
	p.idle.Wait()

	var mu sync.Mutex
	var acknowledged []string
	uncertain, other := 0, error(nil)
	var all sync.WaitGroup
	send := func(content string) {
		_, err := p.Send(ctx, topic, message.Priority{Content: content, Priority: 17})
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			acknowledged = append(acknowledged, content)
		case errors.Is(err, ErrUncertain):
			uncertain++
		default:
			other = err
		}
	}
	key := luascripts.StoreKey(topic.Name, 0)
	hung := cluster.MasterOf(t, key)
	hung.Pause()
	for sender := range 8 {
		all.Go(func() {
			for n := range 20 {
				send(fmt.Sprint(sender, "/", n))
			}
		})
	}
	if cluster.MasterOf(t, key) == hung { // waits for the promotion
		t.Fatal("no replica has taken over")
	}
	hung.Resume()
	all.Wait()
	cluster.AwaitReady(t)
	got := map[string]bool{}
	for _, content := range rdb.ZRange(ctx, key, 0, -1).Val() {
		got[content] = true
	}
	lost := 0
	for _, content := range acknowledged {
		if !got[content] {
			lost++
		}
	}
	t.Logf("%d acknowledged, %d uncertain", len(acknowledged), uncertain)
	if lost > 0 || other != nil {
		t.Errorf("%d of %d acknowledged are lost; %v", lost, len(acknowledged), other)
	}
	if len(acknowledged) == 0 {
		t.Error("nothing was acknowledged")
	}
}
