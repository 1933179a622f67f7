package inspector

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

// Anybody may have written a score. What has an odd one is seen, and can be taken away.
func TestOddScores(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 2})
		odd := map[string]float64{
			"infinite": math.Inf(1), "less": math.Inf(-1), "huge": 1e300, "minus": -1.5, "half": 1767225604000.5, "zero": 0,
		}
		for n, key := range []string{protocol.KeysOf(topic.Name, 0).Store, protocol.KeysOf(topic.Name, 1).Dead, protocol.KeysOf(topic.Name, 0).Retry} {
			for content, score := range odd {
				if n > 0 || score > message.MaxRetries {
					must.Do(t, rdb.ZAdd(ctx, key, redis.Z{Member: content, Score: score}).Err())
				}
			}
		}
		for state, want := range map[State][]string{
			Waiting: {"infinite", "huge", "half"}, Dead: {"infinite", "huge", "half", "zero", "minus", "less"}, Retrying: {"less", "minus", "zero", "half", "huge", "infinite"},
		} {
			entries, err := each(i.Peek(ctx, topic.Name, state, nil, 10))
			var got []string
			for _, e := range entries {
				got = append(got, e.Content)
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v; %v", state, got, want, err)
			}
		}
		for _, newest := range []bool{false, true} {
			if dead := collect(t, i, topic, DeadQuery{Newest: newest}); len(dead) != len(odd) {
				t.Errorf("newest %v: %+v", newest, dead)
			}
		}
		if n, _, err := i.Dead().Delete(ctx, topic.Name, DeadQuery{OlderThan: time.Now()}, nil); n != 4 || err != nil {
			t.Errorf("%d deleted, %v", n, err)
		}
		if n, _, err := i.Dead().Delete(ctx, topic.Name, DeadQuery{}, nil); n != 2 || err != nil {
			t.Errorf("%d deleted, %v", n, err)
		}
	})
}
