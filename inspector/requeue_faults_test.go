package inspector

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// Answers get lost, and the network is cut: nothing is lost, nothing comes twice, and only
// what was done by a call without an answer counts as lost.
func TestRequeueWithoutAnswers(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	rdb := server.Client(t)
	i := newInspector(t, bounded(t, proxy.Client(t)), Config{})
	topic := define(t, rdb, topicOf(t, message.KindFixedTime, 2))
	const n = 3000
	for slot := range 2 {
		bury(t, rdb, topic, slot, n/2, func(n int) (string, time.Time, string) { return name(2*n + slot), noon, whyOf(noon, "-", "x") })
	}
	var steps atomic.Int64
	lose := func() { proxy.LoseNextReply("evalsha", "prepare{") }
	r, err := i.Dead().Requeue(ctx, topic.Name, DeadQuery{Limit: n - 100}, RequeueOptions{Rate: 5000, Progress: func(Requeued) {
		switch steps.Add(1) {
		case 1, 2:
			lose()
		case 3:
			proxy.Cut()
			time.AfterFunc(300*time.Millisecond, proxy.Mend)
		}
	}})
	must.Do(t, err)
	if r.Stored+r.Lost != n-100 || r.Stored < n/2 || r.Lost == 0 || r.Merged+r.Unknown+r.Gone > 0 {
		t.Errorf("%+v", r)
	}
	dead, err := i.Dead().Count(ctx, topic.Name, DeadQuery{})
	must.Do(t, err)
	stored := rdb.ZCard(ctx, protocol.StoreKey(topic.Name, 0)).Val() + rdb.ZCard(ctx, protocol.StoreKey(topic.Name, 1)).Val()
	if dead != 100 || stored != n-100 {
		t.Errorf("%d are dead, %d stored", dead, stored)
	}

	// It stays cut: the error says what is open.
	breaking, cancel := context.WithCancel(ctx)
	defer cancel()
	r, err = i.Dead().Requeue(breaking, topic.Name, DeadQuery{}, RequeueOptions{Rate: 100, Progress: func(Requeued) {
		proxy.OnRequest(func(b []byte) bool {
			proxy.Cut()
			time.AfterFunc(100*time.Millisecond, cancel)
			return false
		})
	}})
	wantError(t, err, context.Canceled, "the answer is lost", "may have been taken out", topic.Name)
	if r.Stored != 10 || r.Lost != 10 {
		t.Errorf("%+v", r)
	}
}

// A master hands over to its replica in the middle: nothing is lost, nothing comes twice, and
// the requeue goes on.
func TestRequeueWhileMastersChange(t *testing.T) {
	t.Parallel()
	const slots, each = 8, 500
	c := servertest.Cluster(t, 3, 1, "--cluster-node-timeout", "60000") // no master is replaced by itself
	rdb := c.Client(t)
	i := newInspector(t, bounded(t, c.Client(t)), Config{})
	topic := define(t, rdb, topicOf(t, message.KindFixedTime, slots))
	for slot := range slots {
		bury(t, rdb, topic, slot, each, func(n int) (string, time.Time, string) { return name(slots*n + slot), noon, whyOf(noon, "-", "x") })
	}
	done := make(chan struct{})
	var replaced sync.WaitGroup
	defer replaced.Wait()
	r, err := i.Dead().Requeue(ctx, topic.Name, DeadQuery{}, RequeueOptions{Rate: 1000, Progress: func(r Requeued) {
		select {
		case <-done:
		default:
			close(done)
			replaced.Go(func() {
				for _, slot := range []int{0, 1} {
					c.Failover(t, protocol.StoreKey(topic.Name, slot))
				}
			})
		}
	}})
	must.Do(t, err)
	replaced.Wait()
	stored := 0
	for slot := range slots {
		stored += int(rdb.ZCard(ctx, protocol.StoreKey(topic.Name, slot)).Val())
	}
	if r.Stored+r.Lost != slots*each || stored != slots*each {
		t.Errorf("%+v, %d stored", r, stored)
	}
	t.Logf("%+v", r)
}
