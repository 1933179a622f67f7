package inspector

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
)

func TestAhead(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		now := rdb.Time(ctx).Val()
		in := []time.Duration{-time.Hour, 30 * time.Second, 5 * time.Minute, 30 * time.Minute, 12 * time.Hour, 50 * time.Hour}
		for _, kind := range []message.Kind{message.KindFixedTime, message.KindPriority} {
			topic := topicOf(t, kind, 4)
			topic.Name += kind.String()
			define(t, rdb, topic)
			for slot := range topic.Slots {
				keys := i.w.Keys(topic.Name, slot)
				for n, d := range in {
					score := float64(now.Add(d).UnixMilli())
					if kind == message.KindPriority {
						score = 1000
					}
					must.Do(t, rdb.ZAdd(ctx, keys.Store, redis.Z{Score: score, Member: fmt.Sprint("waits ", n)}).Err())
					must.Do(t, rdb.ZAdd(ctx, keys.Retry, redis.Z{Score: float64(now.Add(d).UnixMilli()*100 + 7), Member: fmt.Sprint("again ", n)}).Err())
				}
			}
			got, err := i.Ahead(ctx, topic.Name, []time.Duration{time.Minute, 10 * time.Minute, time.Hour, 24 * time.Hour})
			must.Do(t, err)
			want := []int{4, 8, 12, 16}
			if kind == message.KindFixedTime { // those that wait have times, too
				want = []int{8, 16, 24, 32}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v: %v, not %v", kind, got, want)
			}
		}
	})
}

func TestAheadRefuses(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, topicOf(t, message.KindFixedTime, 1))
		_, err := i.Ahead(ctx, topic.Name, []time.Duration{0})
		wantError(t, err, message.ErrInvalid, "within is 0s; it must be more than 0")
		_, err = i.Ahead(ctx, "nothing", []time.Duration{time.Second})
		wantError(t, err, ErrUnknownTopic)
	})
}

// The master of slot 0 is gone, of all masters of a Cluster: what the others have is counted.
func TestAheadWithoutSlotZero(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 3, 0)
	rdb := c.Client(t)
	i := newInspector(t, rdb, Config{})
	var topic message.Topic
	gone := c.Nodes()[0]
	for n := 0; topic.Name == ""; n++ { // one that it has a part of, but not what is stored of the whole
		name := fmt.Sprint("orders", n)
		if c.MasterOf(t, protocol.KeysOf(name, 0).Store) == gone && c.MasterOf(t, protocol.DefinitionKey(name)) != gone {
			topic = define(t, rdb, message.Topic{Name: name, Kind: message.KindFixedTime, Slots: 16})
		}
	}
	var hidden []int
	soon := float64(time.Now().Add(30 * time.Minute).UnixMilli())
	for slot := range topic.Slots {
		k := protocol.KeysOf(topic.Name, slot)
		must.Do(t, rdb.ZAdd(ctx, k.Store, redis.Z{Score: soon, Member: "waits"}).Err())
		must.Do(t, rdb.ZAdd(ctx, k.Retry, redis.Z{Score: soon*100 + 7, Member: "again"}).Err())
		if c.MasterOf(t, k.Store) == gone {
			hidden = append(hidden, slot)
		}
	}
	gone.Kill()
	got, err := i.Ahead(ctx, topic.Name, []time.Duration{time.Minute, time.Hour})
	for _, f := range wantFailed(t, "ahead", err, hidden) {
		if f.Topic != topic.Name || f.Server != gone.Addr() {
			t.Errorf("%+v", f)
		}
	}
	if want := []int{0, 2 * (topic.Slots - len(hidden))}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// Without an answer there is no time, and the error says so.
func TestAheadWithoutRedis(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	i := newInspector(t, proxy.Client(t), Config{})
	topic := define(t, server.Client(t), topicOf(t, message.KindFixedTime, 1))
	proxy.OnRequest(func(b []byte) bool {
		if bytes.Contains(bytes.ToLower(b), []byte("\ntime\r")) {
			proxy.Cut()
		}
		return true
	})
	_, err := i.Ahead(ctx, topic.Name, []time.Duration{time.Minute})
	wantError(t, err, nil, "count what becomes due in topic "+topic.Name, "ask Redis for its time")
}

// Why sees each last error whole, and the empty one of which nothing is known.
func TestDeadWhy(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, topicOf(t, message.KindPriority, 2))
		for slot := range 2 {
			bury(t, rdb, topic, slot, 300, func(n int) (string, time.Time, string) {
				died := noon.Add(time.Duration(n) * time.Second)
				why := whyOf(died, "500", fmt.Sprintf("timed out after %d s", n))
				switch n % 3 {
				case 1:
					why = whyOf(died, "500", "timed out")
				case 2:
					why = ""
				}
				return fmt.Sprintf("%d of %d", n, slot), died, why
			})
		}
		for _, reason := range []string{"timed out after # s", "timed out", ""} {
			q := DeadQuery{Why: func(failure string) bool { return words.Reason(failure) == reason }}
			n, err := i.Dead().Count(ctx, topic.Name, q)
			must.Do(t, err)
			if n != 200 {
				t.Errorf("%q: %d", reason, n)
			}
			q.Limit = 5
			met := 0
			for e, err := range i.Dead().List(ctx, topic.Name, q) {
				must.Do(t, err)
				met++
				if e.Failure == nil != (reason == "") || e.Failure != nil && words.Reason(e.Failure.Reason) != reason {
					t.Errorf("%q: %+v", reason, e)
				}
			}
			if met != 5 {
				t.Errorf("%q: %d with a limit", reason, met)
			}
		}
		q := DeadQuery{Reason: "after", Why: func(failure string) bool { return words.Reason(failure) == "timed out" }}
		if n, err := i.Dead().Count(ctx, topic.Name, q); n != 0 || err != nil {
			t.Errorf("both must fit: %d, %v", n, err)
		}
		done, err := i.Dead().Requeue(ctx, topic.Name, DeadQuery{Why: func(failure string) bool { return failure == "timed out" }}, RequeueOptions{})
		must.Do(t, err)
		if done.Stored != 200 {
			t.Errorf("%+v", done)
		}
	})
}
