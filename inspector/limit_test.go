package inspector

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

func TestLimit(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		define(t, rdb, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4})
		is := func(want Policy) {
			t.Helper()
			got, err := i.Policy(ctx, "orders")
			must.Do(t, err)
			stats, err := i.Stats(ctx, "orders")
			must.Do(t, err)
			left := want.For - got.For
			if got.Rate != want.Rate || got.Concurrency != want.Concurrency || left < 0 || left > time.Minute || stats.Policy.Rate != want.Rate {
				t.Errorf("%+v, in stats %+v, want %+v", got, stats.Policy, want)
			}
		}
		is(Policy{})
		must.Do(t, i.Limit(ctx, "orders", Policy{Rate: 0.5, Concurrency: 4, For: time.Hour}))
		is(Policy{Rate: 0.5, Concurrency: 4, For: time.Hour})
		wantCheck(t, i.Doctor(ctx), "limited", doctor.Warn, "1 topic: orders (30/m, 4 handlers in each worker, for ")
		must.Do(t, i.Limit(ctx, "orders", Policy{Concurrency: 2, For: 24 * time.Hour}))
		is(Policy{Concurrency: 2, For: 24 * time.Hour})
		for _, want := range []bool{true, false} {
			if was, err := i.Unlimit(ctx, "orders"); was != want || err != nil {
				t.Errorf("%v, %v", was, err)
			}
		}
		is(Policy{})
		wantCheck(t, i.Doctor(ctx), "limited", doctor.OK, "no topic")
	})
}

func TestLimitRefuses(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		define(t, rdb, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4})
		for _, x := range []struct {
			Policy
			field string
		}{
			{Policy{Rate: -1, For: time.Hour}, "Policy.Rate"}, {Policy{Rate: math.NaN(), For: time.Hour}, "Policy.Rate"},
			{Policy{Rate: math.Inf(1), For: time.Hour}, "Policy.Rate"}, {Policy{Rate: 1e-4, For: time.Hour}, "Policy.Rate"},
			{Policy{Rate: 2e6, For: time.Hour}, "Policy.Rate"}, {Policy{For: time.Hour}, "Policy.Rate"},
			{Policy{Concurrency: -1, For: time.Hour}, "Policy.Concurrency"},
			{Policy{Rate: 5}, "Policy.For"}, {Policy{Rate: 5, For: -time.Hour}, "Policy.For"}, {Policy{Rate: 5, For: time.Millisecond}, "Policy.For"},
			{Policy{Rate: 5, For: math.MaxInt64}, "Policy.For"},
		} {
			var invalid *message.InvalidError
			if err := i.Limit(ctx, "orders", x.Policy); !errors.As(err, &invalid) || invalid.Field != x.field {
				t.Errorf("%+v: %v", x.Policy, err)
			}
		}
		_, unlimit := i.Unlimit(ctx, "oders")
		_, read := i.Policy(ctx, "oders")
		for _, err := range []error{i.Limit(ctx, "oders", Policy{Rate: 5, For: time.Hour}), unlimit, read} {
			if !errors.Is(err, ErrUnknownTopic) {
				t.Error(err)
			}
		}
		if n := rdb.Exists(ctx, protocol.PolicyKey("orders"), protocol.PolicyKey("orders")).Val(); n != 0 {
			t.Error("a limit is stored")
		}
	})
}

func TestVerifyLooksAtLimits(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		define(t, rdb, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 1})
		key := protocol.PolicyKey("orders")
		finds := func(rule string) {
			t.Helper()
			found, err := i.Verify(ctx, []string{"orders"}, nil)
			must.Do(t, err)
			if rule == "" && len(found) == 0 || len(found) == 1 && found[0].Rule == rule && found[0].Key == key {
				return
			}
			t.Errorf("%+v, want %q", found, rule)
		}
		must.Do(t, i.Limit(ctx, "orders", Policy{Rate: 5, For: time.Hour}))
		finds("")
		for field, value := range map[string]string{"rate": "fast", "concurrency": "-1", "until": "soon"} {
			before := rdb.HGet(ctx, key, field).Val()
			must.Do(t, rdb.HSet(ctx, key, field, value).Err())
			finds("POLICY")
			must.Do(t, rdb.HSet(ctx, key, field, before).Err())
		}
		must.Do(t, rdb.Del(ctx, key).Err())
		must.Do(t, rdb.Set(ctx, key, "x", 0).Err())
		finds("TYPES")
	})
}
