package journaltest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
)

// What a client's journal says is owed is what waits in Redis.
func TestJournalOfAClient(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		const due, later = 300, 200
		j := p.open(t, journal.Config{Wait: true, WaitAtMost: patience})
		topic := rmq.Topic{Name: fmt.Sprintf("client-%d", time.Now().UnixNano()), Kind: rmq.KindFixedTime, Slots: 4}
		client, err := rmq.New(rmq.Config{Redis: servertest.SharedRedis(t).Client(t), Journal: j})
		must(t, err)
		var handled atomic.Int64
		must(t, client.Listen(topic, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error {
			handled.Add(1)
			return nil
		}), rmq.ListenOptions{}))
		for i := range due + later {
			at := time.Now().Add(-time.Second)
			if i >= due {
				at = at.Add(time.Hour)
			}
			_, err := client.Send(ctx, topic, rmq.FixedTime{Content: fmt.Sprintf("order %d", i), At: at})
			must(t, err)
		}
		if n := p.number(t, "SELECT COUNT(*) FROM rmq_sent"); n != due+later {
			t.Errorf("%d rows, though every send has returned", n)
		}
		must(t, client.Start(ctx))
		await(t, func() bool { return handled.Load() >= due })
		must(t, client.Close(ctx))
		closed(t, j)

		status, err := p.open(t, journal.Config{}).Status(ctx)
		must(t, err)
		if len(status.Topics) != 1 || status.Topics[0] != (journal.TopicStatus{Topic: topic.Name, Owed: later}) || len(status.Gaps) != 0 {
			t.Errorf("%+v", status)
		}
	})
}
