package journaltest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
)

// What a client's journal says is owed is what waits in Redis.
func TestJournalOfAClient(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		const due, later = 300, 200
		j := p.open(t, journal.Config{Wait: true, WaitAtMost: await.Patience})
		topic := rmq.Topic{Name: fmt.Sprintf("client-%d", time.Now().UnixNano()), Kind: rmq.KindFixedTime, Slots: 4}
		client, err := rmq.New(rmq.Config{Redis: servertest.SharedRedis(t).Client(t), Journal: j})
		must.Do(t, err)
		var handled atomic.Int64
		must.Do(t, client.Listen(topic, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error {
			handled.Add(1)
			return nil
		}), rmq.ListenOptions{}))
		for i := range due + later {
			at := time.Now().Add(-time.Second)
			if i >= due {
				at = at.Add(time.Hour)
			}
			_, err := client.Send(ctx, topic, rmq.FixedTime{Content: fmt.Sprintf("order %d", i), At: at})
			must.Do(t, err)
		}
		if n := p.number(t, "SELECT COUNT(*) FROM rmq_sent"); n != due+later {
			t.Errorf("%d rows, though every send has returned", n)
		}
		must.Do(t, client.Start(ctx))
		await.True(t, "what is due is handled", func() bool { return handled.Load() >= due })
		must.Do(t, client.Close(ctx))
		closed(t, j)

		status, err := p.open(t, journal.Config{}).Status(ctx)
		must.Do(t, err)
		if len(status.Topics) != 1 || status.Topics[0] != (ledger.TopicStatus{Topic: topic.Name, Owed: later}) || len(status.Gaps) != 0 {
			t.Errorf("%+v", status)
		}
	})
}

// A message that is sent after a cancel is owed, although the program that cancelled reports
// that only later.
func TestCancelIsToldLate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		rdb := servertest.SharedRedis(t).Client(t)
		topic := rmq.Topic{Name: fmt.Sprintf("cancelled-%d", time.Now().UnixNano()), Kind: rmq.KindFixedTime, Slots: 4}
		client, err := rmq.New(rmq.Config{Redis: rdb, Journal: p.open(t, journal.Config{Wait: true, WaitAtMost: await.Patience})})
		must.Do(t, err)
		send := func() {
			_, err := client.Send(ctx, topic, rmq.FixedTime{Content: "order", In: time.Hour})
			must.Do(t, err)
		}
		slow := p.open(t, journal.Config{Lag: time.Minute})
		i, err := inspector.New(rdb, inspector.Config{Journal: slow})
		must.Do(t, err)
		for _, again := range []bool{false, true} {
			send()
			removed, _, err := i.Cancel(ctx, topic.Name, "order", "")
			must.Do(t, err)
			if now := time.Now().UnixMilli(); again {
				await.True(t, "the clock goes on", func() bool { return time.Now().UnixMilli() > now })
				send()
			}
			must.Do(t, slow.Mark(ctx, ledger.Topic{Topic: topic}, 0, ledger.Mark{Content: "x", What: ledger.Restored})) // takes the cancel along
			all, err := slow.History(ctx, topic.Name, "order")
			must.Do(t, err)
			want := map[bool]string{false: ledger.Cancelled, true: ledger.Owed}[again]
			if !removed || len(all) != 1 || all[0].Verdict.What != want {
				t.Errorf("sent again: %v; %+v, want %s", again, all, want)
			}
		}
		must.Do(t, client.Close(ctx))
	})
}

// The journal has whatever a send with Wait has returned nil for, also what has merged into the
// message of a producer that never wrote its row.
func TestWaitCoversWhatMerged(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		topic := rmq.Topic{Name: fmt.Sprintf("merged-%d", time.Now().UnixNano()), Kind: rmq.KindRangeMerge, Slots: 4}
		send := func(j record.Journal) rmq.Outcome {
			client, err := rmq.New(rmq.Config{Redis: servertest.SharedRedis(t).Client(t), Journal: j})
			must.Do(t, err)
			receipt, err := client.Send(ctx, topic, rmq.RangeMerge{Content: "order", Range: time.Hour})
			must.Do(t, err)
			must.Do(t, client.Close(ctx))
			return receipt.Outcome
		}
		send(nil)
		behind := p.open(t, journal.Config{})
		if got := send(behind); got != rmq.Merged {
			t.Fatal(got)
		}
		closed(t, behind)
		if n := p.number(t, "SELECT COUNT(*) FROM rmq_sent"); n != 0 {
			t.Errorf("%d rows for what changed nothing", n)
		}
		if got := send(p.open(t, journal.Config{Wait: true})); got != rmq.Merged {
			t.Fatal(got)
		}
		all, err := p.open(t, journal.Config{}).History(ctx, topic.Name, "order")
		must.Do(t, err)
		if len(all) != 1 || all[0].Verdict.What != ledger.Owed {
			t.Errorf("%+v", all)
		}
	})
}
