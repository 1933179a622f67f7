package journaltest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/journal/recovery"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/slots"
)

// Whatever makes Redis forget: what is missing stays owed, until it is restored or given up.
func TestForgetfulRedis(t *testing.T) {
	t.Parallel()
	for name, disaster := range map[string]struct {
		forget  func(y *yard, srv *servertest.Server, lose func()) // calls lose for what is to be lost
		missing int
		since   bool // it is known since when
	}{
		"restarted with an older state": {func(y *yard, srv *servertest.Server, lose func()) {
			y.do("save")
			lose()
			y.reconcile(recovery.Reconcile{Every: soon}) // a tick that is lost, too
			srv.Kill()
			srv.Restart(y)
		}, 3, true},
		"restarted before a tick was lost": {func(y *yard, srv *servertest.Server, lose func()) {
			y.reconcile(recovery.Reconcile{Every: soon})
			y.do("save")
			lose()
			srv.Kill()
			srv.Restart(y)
		}, 3, true},
		"replaced by a replica": {func(y *yard, srv *servertest.Server, lose func()) {
			host, port, _ := strings.Cut(srv.Addr(), ":")
			replica := servertest.Redis(y, "--replicaof", host+" "+port).Client(y)
			y.do("set", "sign", "x")
			await.True(y, "the replica has it", func() bool { return replica.Get(ctx, "sign").Val() == "x" })
			must.Do(y, replica.Do(ctx, "replicaof", "no", "one").Err())
			lose()
			y.rdb = replica
		}, 3, true},
		"emptied": {func(y *yard, _ *servertest.Server, lose func()) {
			lose()
			y.do("flushall")
		}, 5, false},
		"one slot is deleted": {func(y *yard, _ *servertest.Server, lose func()) {
			lose()
			y.do("del", y.keys.Store, y.keys.Meta) // another content has ended in batch 2
		}, 5, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, accept := range []bool{false, true} {
				srv := servertest.Redis(t, "--repl-diskless-sync-delay", "0")
				y := newYard(t, newPlace(t, "SQLite", true), srv.Client(t), message.Topic{Kind: message.KindFixedTime})
				later := time.Now().Add(time.Hour).UnixMilli()
				y.do("hset", y.keys.Meta, "batch", 50)
				y.do("zadd", y.keys.Store, later, "kept")
				y.tell(sentTo(y.topic, 1, 50, later, "kept", "cancelled before, and not told"))
				y.found(recovery.Reconciled{})
				disaster.forget(y, srv, func() {
					y.do("zadd", y.keys.Store, later, "due later", later, "expires", longAgo().UnixMilli(), "overdue", later, "expired")
					y.do("hset", y.keys.Meta, "batch", 60)
					expires, expired := sentTo(y.topic, 1, 60, later, "expires"), sentTo(y.topic, 1, 60, later, "expired")
					expires.Items[0].Note, expired.Items[0].Note = "10000000", "1000"
					y.tell(sentTo(y.topic, 1, 60, later, "due later"), sentTo(y.topic, 1, 60, 0, "overdue"), expires, expired)
				})
				got := y.found(recovery.Reconciled{Missing: disaster.missing})
				if since := got.Forgot.Since; since.IsZero() == disaster.since || disaster.since && time.Since(since) > await.Patience {
					t.Errorf("forgot what came after %v", since)
				}
				y.found(recovery.Reconciled{Missing: disaster.missing})
				forgotten, err := y.j.Forgotten(ctx)
				must.Do(t, err)
				if len(forgotten) != 1 || forgotten[0].Topic != y.topic.Name || !slices.Equal(forgotten[0].Slots, []int{1}) || forgotten[0].Messages != disaster.missing {
					t.Errorf("%+v", forgotten)
				}
				y.is("overdue", ledger.Owed)
				if accept {
					if got := y.reconcile(recovery.Reconcile{Accept: true}); got.Gone != disaster.missing || !got.Forgot.Noticed.IsZero() {
						t.Errorf("accepted: %+v", got)
					}
					y.is("overdue", ledger.Gone)
				} else {
					restored, err := y.r.Restore(ctx, recovery.Restore{Patience: -1})
					must.Do(t, err)
					lost := disaster.missing
					if disaster.since { // what was cancelled waits, too
						lost++
					}
					if restored.Waiting != lost {
						t.Errorf("%v", restored)
					}
					if got := y.found(recovery.Reconciled{}); !got.Forgot.Noticed.IsZero() {
						t.Errorf("still forgotten: %+v", got)
					}
				}
				// It is trusted again.
				y.do("hset", y.keys.Meta, "batch", 70)
				y.tell(sentTo(y.topic, 1, 60, 0, "handled, and not told"))
				y.found(recovery.Reconciled{Gone: 1})
			}
		})
	}
}

// It must miss nothing for a while until it is trusted again: producers may still send to a server that was
// replaced.
func TestForgetfulRedisIsNotTrustedAtOnce(t *testing.T) {
	t.Parallel()
	y := newYard(t, newPlace(t, "SQLite", true), servertest.Redis(t).Client(t), message.Topic{Kind: message.KindFixedTime})
	y.do("flushall")
	for range 3 {
		if got := y.reconcile(recovery.Reconcile{Every: time.Hour}); got.Forgot.Noticed.IsZero() || got.Missing != 0 {
			t.Errorf("%+v", got)
		}
	}
	y.tell(sentTo(y.topic, 1, 0, 0, "sent to the old one"))
	if got := y.reconcile(recovery.Reconcile{Every: soon}); got.Missing != 1 || got.Gone != 0 {
		t.Errorf("%+v", got)
	}
}

// If Redis has forgotten the batch in which a content ended, an equal send is accepted again, and is owed, whether it
// came before or after the loss was noticed.
func TestForgottenNumbersAreRaised(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		y := newYard(t, p, servertest.SharedRedis(t).Client(t), message.Topic{Kind: message.KindFixedTime, Slots: 512})
		later := time.Now().Add(time.Hour).UnixMilli()
		y.tell(sentTo(y.topic, 1, 50, 0, "before", "behind"), endOf(y.topic, 60, "before", "behind"))
		const others = 300 // slots: more than one round trip raises
		var told []any
		for slot := 2; slot < 2+others; slot++ {
			ended := endOf(y.topic, int64(60+slot), "x")
			ended.Slot = slot
			told = append(told, sentTo(y.topic, slot, 50, 0, "x"), ended)
		}
		y.tell(told...)
		y.do("hset", y.keys.Meta, "batch", 40)
		m, err := y.j.Memory(ctx)
		must.Do(t, err)
		y.do("del", protocol.TickKey(m.Key, 0))
		send := func(content string) {
			number, err := y.rdb.HGet(ctx, y.keys.Meta, "batch").Int64()
			must.Do(t, err)
			y.do("zadd", y.keys.Store, later, content)
			y.tell(sentTo(y.topic, 1, number, later, content))
		}
		send("before")
		y.is("before", ledger.Done) // nothing contradicts it
		y.found(recovery.Reconciled{Adopted: 1})
		send("behind")
		y.is("before", ledger.Owed)
		y.is("behind", ledger.Owed)
		for slot := 2; slot < 2+others; slot++ {
			key := protocol.KeysOf(y.topic.Name, slot).Meta
			if number, err := y.rdb.HGet(ctx, key, "batch").Int64(); number < int64(60+slot) {
				t.Fatalf("the number of slot %d is %d (%v)", slot, number, err)
			}
		}
	})
}

// A server that is rolled back while all goes on is noticed, and named by slot; a restore brings back what is
// missing. By night it is rolled back by 5 s.
func TestRolledBackRedisIsNamedBySlot(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		const count = 8
		srv := servertest.Redis(t)
		rdb := srv.Client(t)
		topic := rmq.Topic{Name: "orders", Kind: rmq.KindFixedTime, Slots: count}
		j := p.open(t, journal.Config{Lag: time.Millisecond})
		client, err := rmq.New(rmq.Config{Redis: rdb, Namespace: "shop", Journal: j})
		must.Do(t, err)
		handled := make(chan string, 10_000)
		must.Do(t, client.Listen(topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
			handled <- d.Content
			return nil
		}), rmq.ListenOptions{}))
		number := 0
		send := func(in time.Duration, to ...int) string {
			for {
				number++
				content := fmt.Sprintf("order %d", number)
				if slices.Contains(to, slots.Of(content, count)) {
					_, err := client.Send(ctx, topic, rmq.FixedTime{Content: content, At: time.Now().Add(in)})
					must.Do(t, err)
					return content
				}
			}
		}
		r, err := recovery.New(recovery.Config{Journal: p.open(t, journal.Config{}), Redis: rdb})
		must.Do(t, err)
		background, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- r.Run(background, recovery.Reconcile{Every: 100 * time.Millisecond}) }()
		t.Cleanup(func() {
			stop()
			must.Do(t, <-ended)
		})
		reader := p.open(t, journal.Config{})
		memory := func() *ledger.Memory {
			m, err := reader.Memory(ctx)
			must.Do(t, err)
			return m
		}
		for range 100 {
			send(time.Hour, 0, 1, 2, 3, 4, 5, 6, 7)
		}
		await.True(t, "the first comparison is made", func() bool { m := memory(); return len(m.Ticks) == 1 && m.Forgot.Noticed.IsZero() })

		revived := send(0, 2)
		must.Do(t, rdb.Save(ctx).Err())
		saved := time.Now()
		must.Do(t, client.Start(ctx))
		await.True(t, "the first one is handled", func() bool { return len(handled) == 1 })
		missing := 0
		send(0, 5)
		for missing < 50 || night.Is() && time.Since(saved) < 5*time.Second {
			send(time.Hour, 3, 7)
			missing++
		}
		await.True(t, "the second one is handled", func() bool { return len(handled) == 2 })
		must.Do(t, client.Close(ctx))
		closed(t, j)
		newest, err := reader.Newest(ctx)
		must.Do(t, err)
		await.True(t, "the newest one is compared", func() bool { return memory().Ticks[0].ID >= newest })
		srv.Kill()
		srv.Restart(t)

		var forgotten []record.Forgotten
		await.True(t, "it is noticed", func() bool {
			forgotten, err = reader.Forgotten(ctx)
			must.Do(t, err)
			return len(forgotten) > 0
		})
		f := forgotten[0]
		if len(forgotten) != 1 || f.Topic != "shop:orders" || !slices.Equal(f.Slots, []int{3, 7}) || f.Messages != missing || f.Since.After(saved) || saved.Sub(f.Since) > await.Patience {
			t.Errorf("%+v; %d are missing since %v", forgotten, missing, saved)
		}
		wantDoctor(t, rdb, reader, doctor.Fail, "Redis forgot what came after "+f.Since.Format("2006-01-02 15:04:05")+
			fmt.Sprintf(" in slots 3, 7 of orders: %d messages are missing", missing))
		if status, err := reader.Status(ctx); err != nil || len(status.Forgotten) != 1 {
			t.Errorf("%+v, %v", status, err)
		}
		if n := p.number(t, "SELECT COUNT(*) FROM rmq_ended WHERE what = 'gone'"); n != 0 {
			t.Errorf("%d are gone", n)
		}
		await.True(t, "what was handled is owed again", func() bool { // what was handled waits again
			all, err := reader.History(ctx, f.Topic, revived)
			must.Do(t, err)
			return all[0].Verdict.What == ledger.Owed
		})

		restored, err := r.Restore(ctx, recovery.Restore{Patience: -1})
		must.Do(t, err)
		if restored.Waiting != missing {
			t.Errorf("restored %v, want %d", restored, missing)
		}
		await.True(t, "nothing is missing", func() bool { return memory().Forgot.Noticed.IsZero() })
		wantDoctor(t, rdb, reader, doctor.OK, "Redis has all that is owed")
	})
}

// wantDoctor expects what the doctor says of the journal.
func wantDoctor(t *testing.T, rdb redis.UniversalClient, j *journal.Journal, level doctor.Level, detail string) {
	t.Helper()
	i, err := inspector.New(rdb, inspector.Config{Namespace: "shop", Journal: j})
	must.Do(t, err)
	await.True(t, fmt.Sprintf("the doctor says %s: %s", level, detail), func() bool { // it asks again, where a busy machine answers late
		checks := i.Doctor(ctx)
		last := checks[len(checks)-1]
		return last.Name == "journal" && last.Level == level && last.Detail == detail
	})
}

// Each master of a Cluster has a tick of its own.
func TestForgetfulMasterOfACluster(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 3, 0)
	rdb := cluster.Client(t)
	y := newYard(t, newPlace(t, "SQLite", true), rdb, message.Topic{Kind: message.KindFixedTime})
	m, err := y.j.Memory(ctx)
	must.Do(t, err)
	masters := map[*servertest.Server]bool{}
	for n := range m.Ticks {
		masters[cluster.MasterOf(t, protocol.TickKey(m.Key, n))] = true
	}
	if len(m.Ticks) != 3 || len(masters) != 3 {
		t.Errorf("%d ticks on %d masters", len(m.Ticks), len(masters))
	}
	for master := range masters {
		must.Do(t, master.Client(t).FlushAll(ctx).Err())
		if got := y.reconcile(recovery.Reconcile{Every: soon}); got.Forgot.Noticed.IsZero() {
			t.Errorf("%s was emptied, and nobody notices", master.Addr())
		}
		if got := y.reconcile(recovery.Reconcile{Every: soon}); !got.Forgot.Noticed.IsZero() {
			t.Errorf("%+v", got)
		}
	}
}
