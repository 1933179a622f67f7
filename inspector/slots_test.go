package inspector

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// zadd adds one member.
func zadd(t testing.TB, rdb redis.UniversalClient, key, member string, score int64) {
	t.Helper()
	must.Do(t, rdb.ZAdd(ctx, key, redis.Z{Member: member, Score: float64(score)}).Err())
}

func TestSlotsOfAnEmptyTopic(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, message.Topic{Name: "empty", Kind: message.KindFixedTime, Slots: 256}) // several pipelines
		all, err := i.Slots(ctx, topic.Name)
		must.Do(t, err)
		if len(all) != 256 {
			t.Fatalf("%d slots", len(all))
		}
		for n, s := range all {
			if want := (Slot{Index: n}); s != want {
				t.Errorf("%+v", s)
			}
		}
		sum, err := i.Stats(ctx, topic.Name)
		if want := (Stats{Topic: sum.Topic, Read: 256}); err != nil || sum != want || sum.Topic.Topic != topic {
			t.Errorf("%+v, %v", sum, err)
		}
		for _, call := range []func() error{
			func() error { _, err := i.Slots(ctx, "no"); return err },
			func() error { _, err := i.Stats(ctx, "no"); return err },
		} {
			wantError(t, call(), ErrUnknownTopic)
		}
	})
}

// One slot with something of everything, and what is told of it.
func TestSlots(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		now := time.Now()
		at := func(d time.Duration) int64 { return now.Add(d).UnixMilli() }
		soon := func(got time.Duration, want time.Duration) bool { return got >= want && got < want+time.Minute }

		times := define(t, rdb, message.Topic{Name: "times", Kind: message.KindFixedTime, Slots: 2})
		k := protocol.KeysOf(times.Name, 1)
		zadd(t, rdb, k.Store, binary, at(-time.Hour))
		zadd(t, rdb, k.Store, "b", at(-time.Minute))
		zadd(t, rdb, k.Store, "c", at(time.Hour))
		zadd(t, rdb, k.Retry, "d", at(-2*time.Hour)*100+16)
		zadd(t, rdb, k.Retry, "e", at(2*time.Hour)*100+1)
		zadd(t, rdb, k.Dead, "f", at(-time.Hour))
		zadd(t, rdb, k.Prepare, "g", now.Add(-time.Minute).Unix()*1000+13)
		must.Do(t, rdb.HSet(ctx, k.Meta, "holder", "w1", "batch", 7, "until", at(time.Hour), "lease", 30000, "paused", at(-3*time.Minute)).Err())
		zadd(t, rdb, protocol.KeysOf(times.Name, 0).Store, "later", at(time.Hour))
		must.Do(t, rdb.HSet(ctx, protocol.KeysOf(times.Name, 0).Meta, "holder", "w0", "batch", 7, "until", at(time.Hour), "lease", 30000).Err())

		all, err := i.Slots(ctx, times.Name)
		must.Do(t, err)
		s := all[1]
		if want := (Counts{Waiting: 3, Due: 3, InFlight: 1, Retrying: 2, Dead: 1}); s.Counts != want {
			t.Errorf("%+v, want %+v", s.Counts, want)
		}
		if !soon(s.Overdue, 2*time.Hour) || s.Next.UnixMilli() != at(-2*time.Hour) || s.Priority != 0 {
			t.Errorf("%+v", s)
		}
		if s.Holder != "w1" || s.Since.Unix() != now.Add(-time.Minute).Unix() || s.Attempt != 4 || s.LeaseEnds.UnixMilli() != at(time.Hour) {
			t.Errorf("%+v", s)
		}
		if s.Paused.UnixMilli() != at(-3*time.Minute) || s.Worker != "" {
			t.Errorf("%+v", s)
		}
		// Who holds an idle slot is of no interest.
		if want := (Slot{Counts: Counts{Waiting: 1}, Next: time.UnixMilli(at(time.Hour))}); all[0] != want {
			t.Errorf("%+v", all[0])
		}
		sum, err := i.Stats(ctx, times.Name)
		must.Do(t, err)
		if want := (Counts{Waiting: 4, Due: 3, InFlight: 1, Retrying: 2, Dead: 1}); sum.Counts != want || !soon(sum.Overdue, 2*time.Hour) || sum.Paused != 1 || sum.Workers != 0 {
			t.Errorf("%+v", sum)
		}

		// With ZooKeeper there is no lease.
		must.Do(t, rdb.HSet(ctx, k.Meta, "lease", 0).Err())
		if all, err = i.Slots(ctx, times.Name); err != nil || !all[1].LeaseEnds.IsZero() {
			t.Errorf("%+v, %v", all[1], err)
		}

		orders := define(t, rdb, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 1, Literal: true})
		k = protocol.KeysOf(orders.Name, 0)
		zadd(t, rdb, k.Store, "a", 1<<53-1)
		zadd(t, rdb, k.Store, "b", 17)
		zadd(t, rdb, k.Store, "failed", 16)
		all, err = i.Slots(ctx, orders.Name)
		want := Slot{Counts: Counts{Waiting: 2, Due: 3, Retrying: 1}, Priority: 1<<53 - 1}
		if err != nil || all[0] != want {
			t.Errorf("%+v, want %+v, %v", all[0], want, err)
		}
		must.Do(t, rdb.ZRem(ctx, k.Store, "a", "b").Err())
		all, err = i.Slots(ctx, orders.Name)
		if want := (Slot{Counts: Counts{Due: 1, Retrying: 1}}); err != nil || all[0] != want {
			t.Errorf("%+v, want %+v, %v", all[0], want, err)
		}

		// In a literal topic of times, failed ones come first and say nothing of when.
		literal := define(t, rdb, message.Topic{Name: "literal", Kind: message.KindRangeMerge, Slots: 1, Literal: true})
		k = protocol.KeysOf(literal.Name, 0)
		zadd(t, rdb, k.Store, "failed", 3)
		zadd(t, rdb, k.Store, "due", at(-time.Hour))
		all, err = i.Slots(ctx, literal.Name)
		if err != nil || all[0].Counts != (Counts{Waiting: 1, Due: 2, Retrying: 1}) || !soon(all[0].Overdue, time.Hour) {
			t.Errorf("%+v, %v", all[0], err)
		}
	})
}

// What a real worker does to a slot is seen as it happens.
func TestSlotsOfAWorker(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 2}
		began, release := make(chan *consumer.Delivery, 1), make(chan error)
		c := work(t, rdb, consumer.Config{Lease: time.Minute, Backoff: verdict.Schedule(time.Millisecond)}, topic,
			func(ctx context.Context, d *consumer.Delivery) error {
				began <- d
				return <-release
			})
		send(t, rdb, topic, message.Priority{Content: binary, Priority: 100})
		for attempt := 1; attempt <= 2; attempt++ {
			d := <-began
			all, err := i.Slots(ctx, topic.Name)
			must.Do(t, err)
			for _, s := range all {
				if s.Worker != c.Worker() || s.Index == d.Slot && (s.InFlight != 1 || s.Holder != c.Worker() || s.Attempt != attempt ||
					time.Since(s.Since) > await.Patience || time.Until(s.LeaseEnds) > time.Minute+time.Second) {
					t.Errorf("attempt %d: %+v", attempt, s)
				}
				if s.Index != d.Slot && (s.InFlight != 0 || s.Holder != "") {
					t.Errorf("%+v", s)
				}
			}
			sum, err := i.Stats(ctx, topic.Name)
			if err != nil || sum.InFlight != 1 || sum.Workers != 1 || sum.Topic.Sharing != "redis" {
				t.Errorf("%+v, %v", sum, err)
			}
			if attempt == 1 {
				release <- errors.New("not yet")
			}
		}
		release <- verdict.DeadError(errors.New("never"))
		await.True(t, "its death", func() bool {
			sum, err := i.Stats(ctx, topic.Name)
			must.Do(t, err)
			return sum.Dead == 1 && sum.InFlight == 0
		})
	})
}

// A key of another type is named, whatever is asked.
func TestKeysOfAnotherType(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, message.Topic{Name: "orders", Kind: message.KindFixedTime, Slots: 1})
		must.Do(t, rdb.HSet(ctx, protocol.DefinitionKey(topic.Name), "sharing", "redis").Err())
		k := protocol.KeysOf(topic.Name, 0)
		calls := map[string]func() error{
			"slots":   func() error { _, err := i.Slots(ctx, topic.Name); return err },
			"stats":   func() error { _, err := i.Stats(ctx, topic.Name); return err },
			"peek":    func() error { _, err := each(i.Peek(ctx, topic.Name, Waiting, nil, 1)); return err },
			"explain": func() error { _, err := i.Explain(ctx, topic.Name, "x", ""); return err },
		}
		for _, key := range []string{k.Store, k.Prepare, k.Retry, k.Dead, k.Meta, protocol.WorkersKey(topic.Name), k.Why} {
			must.Do(t, rdb.Set(ctx, key, "x", 0).Err())
			for name, call := range calls {
				looks := name == "explain" || key != k.Why
				if key == protocol.WorkersKey(topic.Name) {
					looks = name == "slots" || name == "stats"
				}
				if looks {
					wantError(t, call(), nil, key)
				} else {
					must.Do(t, call())
				}
			}
			must.Do(t, rdb.Del(ctx, key).Err())
		}
	})
}
