package inspector

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/message"
)

// Ahead returns how many messages of a topic become due before each of some spans of time is over, now being
// the clock of Redis, or the latest one of a Cluster: those that wait, and those that wait for their retry. What is due already is not among
// them, nor what has a priority and no time. With a [PartialError] they are those of the slots that could be counted.
func (i *Inspector) Ahead(ctx context.Context, topic string, within []time.Duration) ([]int, error) {
	if err := ask.Given(ctx, "count what becomes due in topic "+topic); err != nil {
		return nil, err
	}
	for _, d := range within {
		if d <= 0 {
			return nil, fmt.Errorf("count what becomes due in topic %s: %w", topic, &message.InvalidError{Field: "within", Value: d.String(), Limit: "more than 0"})
		}
	}
	t, err := i.w.Topic(ctx, topic)
	if err != nil {
		return nil, err
	}
	now, err := cluster.Now(ctx, i.w.Redis)
	if now.IsZero() { // otherwise a part of a Cluster is away, as the counts say
		return nil, fmt.Errorf("count what becomes due in topic %s: ask Redis for its time: %w", topic, i.w.Explain(err))
	}
	failed := i.w.Failing()
	ahead := make([]int, len(within))
	for n, d := range within {
		from, to := now.UnixMilli(), now.Add(d).UnixMilli()
		if t.Kind.Timed() {
			if err := addCount(ctx, i, t, &ahead[n], func(k protocol.SlotKeys) string { return k.Store }, from, to, &failed); err != nil {
				return nil, err
			}
		}
		// A retry has its attempt behind the ms.
		retry := func(k protocol.SlotKeys) string { return k.Retry }
		if err := addCount(ctx, i, t, &ahead[n], retry, from*100+99, to*100+99, &failed); err != nil {
			return nil, err
		}
	}
	return ahead, failed.Err()
}

// addCount adds how many members of a key of each slot have a score above one and not above another.
func addCount(ctx context.Context, i *Inspector, t Topic, sum *int, key func(protocol.SlotKeys) string, above, to int64, failed *ask.Failures) error {
	counts, _, err := ask.OfSlots(ctx, i.w.Ground, t, ask.AllSlots(t), func(k protocol.SlotKeys) *redis.IntCmd {
		return redis.NewIntCmd(ctx, "zcount", key(k), "("+strconv.FormatInt(above, 10), to)
	}, func(k protocol.SlotKeys, cmd *redis.IntCmd) (int, error) {
		n, err := cmd.Result()
		return int(n), ask.At(key(k), err)
	})
	for _, n := range counts {
		*sum += n
	}
	return failed.Merge(err)
}
