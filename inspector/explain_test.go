package inspector

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/inspector/internal/who"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// explain expects the content in one slot.
func explain(t testing.TB, i *Inspector, topic, content string) Explanation {
	t.Helper()
	all, err := i.Explain(ctx, topic, content, "")
	must.Do(t, err)
	if len(all) != 1 {
		t.Fatalf("%q is in %d slots", content, len(all))
	}
	return all[0]
}

func TestExplainWhereItIs(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, message.Topic{Name: "mails", Kind: message.KindFixedTime, Slots: 256})
		if none, err := i.Explain(ctx, topic.Name, "nowhere", ""); err != nil || len(none) != 0 {
			t.Errorf("%+v, %v", none, err)
		}
		_, err := i.Explain(ctx, "letters", "x", "")
		wantError(t, err, ErrUnknownTopic)

		// All over: a fresh copy, one in flight, a dead one.
		now := time.Now().Truncate(time.Second)
		slot := slots.Of(binary, topic.Slots)
		k := protocol.KeysOf(topic.Name, slot)
		zadd(t, rdb, k.Store, "first", now.Add(-time.Hour).UnixMilli())
		zadd(t, rdb, k.Store, binary, now.Add(time.Hour).UnixMilli())
		zadd(t, rdb, k.Prepare, binary, now.Unix()*1000+12)
		zadd(t, rdb, protocol.KeysOf(topic.Name, 7).Retry, "failed", now.Add(time.Minute).UnixMilli()*100+3)
		zadd(t, rdb, k.Dead, binary, now.Add(-time.Minute).UnixMilli())
		must.Do(t, rdb.HSet(ctx, k.Meta, "holder", "w1", "batch", 7, "until", now.Add(time.Hour).UnixMilli(), "lease", 30000).Err())
		must.Do(t, rdb.HSet(ctx, k.Why, binary, fmt.Sprintf("4 %d %d - w2 it is  broken", now.Add(-time.Hour).UnixMilli(), now.UnixMilli())).Err())

		e := explain(t, i, topic.Name, binary)
		if e.Topic.Topic != topic || e.Content != binary || e.Slot != slot || e.Before != 1 || e.Now.Sub(now).Abs() > await.Patience {
			t.Errorf("%+v", e)
		}
		if want := (Entry{Content: binary, Slot: slot, State: Waiting, Due: now.Add(time.Hour), Attempt: 1}); e.Waiting == nil || *e.Waiting != want {
			t.Errorf("%+v", e.Waiting)
		}
		if want := (Flight{Worker: "w1", Since: now, Attempt: 5, LeaseEnds: now.Add(time.Hour), Batch: 1}); e.Flight == nil || *e.Flight != want {
			t.Errorf("%+v", e.Flight)
		}
		if want := (Entry{Content: binary, Slot: slot, State: Dead, Died: now.Add(-time.Minute)}); e.Dead == nil || *e.Dead != want {
			t.Errorf("%+v", e.Dead)
		}
		if want := (Failure{Attempts: 4, First: now.Add(-time.Hour), Last: now, Worker: "w2", Reason: "it is  broken"}); e.Failure == nil || *e.Failure != want {
			t.Errorf("%+v", e.Failure)
		}

		e = explain(t, i, topic.Name, "failed")
		if want := (Entry{Content: "failed", Slot: 7, State: Retrying, Due: now.Add(time.Minute), Attempt: 15}); e.Retry == nil || *e.Retry != want ||
			e.Waiting != nil || e.Flight != nil || e.Dead != nil || e.Failure != nil {
			t.Errorf("%+v, %+v", e, e.Retry)
		}

		large := strings.Repeat("\xff", 256<<10)
		zadd(t, rdb, protocol.StoreKey(topic.Name, 9), large, now.UnixMilli())
		if e := explain(t, i, topic.Name, large); e.Slot != 9 || e.Content != large {
			t.Errorf("slot %d, %d bytes", e.Slot, len(e.Content))
		}

		// Sent with a basis, it lies in other slots.
		for _, other := range []int{3, 200} {
			zadd(t, rdb, protocol.KeysOf(topic.Name, other).Store, "elsewhere", now.UnixMilli())
		}
		all, err := i.Explain(ctx, topic.Name, "elsewhere", "")
		if err != nil || len(all) != 2 || all[0].Slot != 3 || all[1].Slot != 200 {
			t.Errorf("%+v, %v", all, err)
		}
		if all, err = i.Explain(ctx, topic.Name, "elsewhere", "another basis"); err != nil || len(all) != 0 {
			t.Errorf("%+v, %v", all, err)
		}
		basis := ""
		for n := 0; slots.Of(basis, topic.Slots) != 200; n++ {
			basis = fmt.Sprint("basis ", n)
		}
		if all, err = i.Explain(ctx, topic.Name, "elsewhere", basis); err != nil || len(all) != 1 || all[0].Slot != 200 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

func TestExplainWhatItWaitsFor(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		const none = "a worker: none listens to this topic"
		mails := define(t, rdb, message.Topic{Name: "mails", Kind: message.KindFixedTime, Slots: 1})
		orders := define(t, rdb, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 1, Literal: true})
		kt, kp := protocol.KeysOf(mails.Name, 0), protocol.KeysOf(orders.Name, 0)
		at := func(d time.Duration) int64 { return time.Now().Add(d).UnixMilli() }
		meta := func(k protocol.SlotKeys, fields ...any) {
			must.Do(t, rdb.Del(ctx, k.Meta).Err())
			must.Do(t, rdb.HSet(ctx, k.Meta, fields...).Err())
		}
		waits := func(topic message.Topic, content string, want ...string) {
			t.Helper()
			got := explain(t, i, topic.Name, content).WaitsFor
			fits := func(w, g string) bool { // seconds have passed, perhaps
				before, after, cut := strings.Cut(w, "…")
				return w == g || cut && strings.HasPrefix(g, before) && strings.HasSuffix(g, after)
			}
			if !slices.EqualFunc(want, got, fits) {
				t.Errorf("%s waits for %q, want %q", content, got, want)
			}
		}
		zadd(t, rdb, kt.Store, "due", at(-time.Hour))
		zadd(t, rdb, kt.Store, "due, too", at(-time.Minute))
		zadd(t, rdb, kt.Store, "later", at(2*time.Hour+59*time.Second))
		zadd(t, rdb, kt.Retry, "failed", at(3*time.Hour+59*time.Second)*100+16)
		zadd(t, rdb, kt.Retry, "failed, due", at(-time.Second)*100+16)
		zadd(t, rdb, kt.Dead, "dead", at(-time.Second))
		waits(mails, "due", none)
		waits(mails, "due, too", "1 message before it in slot 0", none)
		waits(mails, "later", "its time, in 2h", none)
		waits(mails, "failed", "its retry, in 3h", none)
		waits(mails, "failed, due", none)
		waits(mails, "dead", "you to requeue or delete it")

		must.Do(t, rdb.HSet(ctx, protocol.DefinitionKey(mails.Name), "sharing", "redis").Err())
		zadd(t, rdb, protocol.WorkersKey(mails.Name), "w1", at(time.Hour))
		zadd(t, rdb, protocol.WorkersKey(mails.Name), "w0, gone", at(-time.Hour))
		waits(mails, "due", "its worker, w1, to look")
		waits(mails, "later", "its time, in 2h")

		fails := "something that the handlers of w1 need: all messages of the topic have failed there for 5m…, and one is tried now and then"
		must.Do(t, rdb.HSet(ctx, protocol.ProbingKey(mails.Name), "w0, gone", at(-time.Hour), "w1", at(-5*time.Minute-time.Second)).Err())
		waits(mails, "due", fails)
		waits(mails, "later", "its time, in 2h", fails)
		must.Do(t, rdb.Del(ctx, protocol.ProbingKey(mails.Name)).Err())

		meta(kt, "paused", at(-3*time.Minute-time.Second))
		waits(mails, "later", "slot 0 to be resumed (paused 3m…s ago)", "its time, in 2h")
		meta(kt, "paused", "yes")
		waits(mails, "failed", "slot 0 to be resumed", "its retry, in 3h")

		zadd(t, rdb, kt.Prepare, "flies", at(-12*time.Minute)/1000*1000+16)
		meta(kt, "holder", "w1", "batch", 7, "until", at(time.Hour), "lease", 30000)
		waits(mails, "due", "the batch of w1, taken 12m…")
		waits(mails, "due, too", "the batch of w1, taken 12m…", "1 message before it in slot 0")
		waits(mails, "flies")
		meta(kt, "holder", "w0", "batch", 7, "until", at(-5*time.Minute), "lease", 30000)
		waits(mails, "flies", "a worker to take it over: the lease of w0 ended 5m… ago")
		waits(mails, "due", "the batch of w0, whose lease ended 5m… ago, to be taken over")
		meta(kt, "holder", "w0", "batch", 7, "until", at(-5*time.Minute), "lease", 0) // ZooKeeper judges
		waits(mails, "due", "the batch of w0, taken 12m…")

		zadd(t, rdb, kp.Store, "urgent", 100)
		zadd(t, rdb, kp.Store, "urgent, too", 100)
		zadd(t, rdb, kp.Store, "not urgent", 17)
		zadd(t, rdb, kp.Store, "failed", 16)
		same := "perhaps 1 message with the same priority in slot 0"
		waits(orders, "urgent", same, none)
		waits(orders, "urgent, too", same, none)
		waits(orders, "not urgent", "2 messages before it in slot 0", none)
		waits(orders, "failed", none)
		if e := explain(t, i, orders.Name, "failed"); e.Waiting != nil || e.Retry == nil || e.Retry.Attempt != 2 || !e.Retry.Due.IsZero() {
			t.Errorf("%+v", e)
		}
	})
}

// With ZooKeeper workers may be there and have no slots yet, or not be known.
func TestExplainWithoutAnOwner(t *testing.T) {
	t.Parallel()
	e := Explanation{Slot: 1, Waiting: &Entry{Priority: 17}}
	for says, who := range map[string]who.Shares{
		"":                                     {Workers: -1},
		"a worker: none listens to this topic": {Workers: 0},
		"a worker: slot 1 is assigned to none": {Workers: 2, Owners: []string{"w1", ""}},
		"its worker, w2, to look":              {Workers: 2, Owners: []string{"w1", "w2"}},
	} {
		if got := strings.Join(waitsFor(&e, &byhand.Found{}, who, nil), ", "); got != says {
			t.Errorf("%+v: %q, want %q", who, got, says)
		}
	}
}

// The life of a poison message under a real worker.
func TestExplainOfAWorker(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 8}
		began, release := make(chan int), make(chan error)
		c := work(t, rdb, consumer.Config{Backoff: verdict.Schedule(time.Millisecond, time.Hour)}, topic, func(ctx context.Context, d *consumer.Delivery) error {
			began <- d.Attempt
			return <-release
		})
		send(t, rdb, topic, message.Priority{Content: "poison", SlotBasis: "customer 12", Priority: 900})
		for attempt := 1; attempt <= 2; attempt++ {
			<-began
			e := explain(t, i, topic.Name, "poison")
			if e.Slot != slots.Of("customer 12", 8) || e.Flight == nil || e.Flight.Worker != c.Worker() || e.Flight.Attempt != attempt || len(e.WaitsFor) != 0 {
				t.Errorf("%+v, %+v", e, e.Flight)
			}
			release <- errors.New("the shop timed out")
		}
		var e Explanation
		await.True(t, "its retry", func() bool {
			e = explain(t, i, topic.Name, "poison")
			return e.Flight == nil
		})
		if e.Retry == nil || e.Retry.Attempt != 3 || len(e.WaitsFor) != 1 || !strings.HasPrefix(e.WaitsFor[0], "its retry, in ") {
			t.Errorf("%+v, %+v", e, e.Retry)
		}
		if f := e.Failure; f == nil || f.Attempts != 2 || f.Priority != 900 || f.Worker != c.Worker() || f.Reason != "the shop timed out" || f.Last.Before(f.First) {
			t.Errorf("%+v", f)
		}
	})
}
