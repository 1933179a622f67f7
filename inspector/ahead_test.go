package inspector

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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
				keys := i.keys(topic.Name, slot)
				for n, d := range in {
					score := float64(now.Add(d).UnixMilli())
					if kind == message.KindPriority {
						score = 1000
					}
					must(t, rdb.ZAdd(ctx, keys.Store, redis.Z{Score: score, Member: fmt.Sprint("waits ", n)}).Err())
					must(t, rdb.ZAdd(ctx, keys.Retry, redis.Z{Score: float64(now.Add(d).UnixMilli()*100 + 7), Member: fmt.Sprint("again ", n)}).Err())
				}
			}
			got, err := i.Ahead(ctx, topic.Name, []time.Duration{time.Minute, 10 * time.Minute, time.Hour, 24 * time.Hour})
			must(t, err)
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
			q := DeadQuery{Why: func(failure string) bool { return ReasonOf(failure) == reason }}
			n, err := i.DeadCount(ctx, topic.Name, q)
			must(t, err)
			if n != 200 {
				t.Errorf("%q: %d", reason, n)
			}
			q.Limit = 5
			met := 0
			for e, err := range i.Dead(ctx, topic.Name, q) {
				must(t, err)
				met++
				if e.Failure == nil != (reason == "") || e.Failure != nil && ReasonOf(e.Failure.Reason) != reason {
					t.Errorf("%q: %+v", reason, e)
				}
			}
			if met != 5 {
				t.Errorf("%q: %d with a limit", reason, met)
			}
		}
		q := DeadQuery{Reason: "after", Why: func(failure string) bool { return ReasonOf(failure) == "timed out" }}
		if n, err := i.DeadCount(ctx, topic.Name, q); n != 0 || err != nil {
			t.Errorf("both must fit: %d, %v", n, err)
		}
		done, err := i.DeadRequeue(ctx, topic.Name, DeadQuery{Why: func(failure string) bool { return failure == "timed out" }}, RequeueOptions{})
		must(t, err)
		if done.Stored != 200 {
			t.Errorf("%+v", done)
		}
	})
}
