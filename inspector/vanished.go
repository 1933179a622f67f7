package inspector

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/protocol/score"
	"github.com/slotmq/go-rmq/internal/protocol/script"
)

// Vanished is a worker that ceased to share a topic without a word: it was killed, froze, or was cut off. One that was closed is
// not among them.
type Vanished struct {
	Worker string
	Topics []string
	Until  time.Time // when its time ran out: it was last seen up to a Lease before
}

// Vanished are the workers of topics shared by Redis that vanished within a day, and have not come back; the latest first. Of each
// topic these are the last 100, and those that no worker has missed yet.
func (i *Inspector) Vanished(ctx context.Context) ([]Vanished, error) {
	if err := ask.Given(ctx, "list workers that vanished"); err != nil {
		return nil, err
	}
	failed := i.w.Failing()
	topics, err := i.Topics(ctx)
	if err := failed.Merge(err); err != nil {
		return nil, err
	}
	topics = slices.DeleteFunc(topics, func(t Topic) bool { return t.Sharing != definition.SharingRedis })
	known := map[string]*Vanished{}
	for some := range slices.Chunk(topics, ask.PerPipeline) {
		if err := failed.Merge(vanished(ctx, i, some, known)); err != nil {
			return nil, err
		}
	}
	all := make([]Vanished, 0, len(known))
	for _, id := range slices.Sorted(maps.Keys(known)) {
		all = append(all, *known[id])
	}
	slices.SortStableFunc(all, func(a, b Vanished) int { return cmp.Compare(b.Until.UnixMilli(), a.Until.UnixMilli()) })
	return all, failed.Err()
}

// named is how long a worker is named that has vanished.
const named = 24 * time.Hour

// vanished adds the workers that vanished from some topics.
func vanished(ctx context.Context, i *Inspector, topics []Topic, known map[string]*Vanished) error {
	const most = 100
	failed, clocks := i.w.Failing(), map[string]time.Time{}
	keys := make([]string, len(topics))
	for n, t := range topics {
		keys[n] = protocol.WorkersKey(i.w.Qualified(t.Name))
	}
	errs := i.w.Masters.Silent(ctx, i.w.Redis, keys)
	cmds := make([][]redis.Cmder, len(topics))
	var sent []redis.Cmder
	for n, t := range topics {
		if errs[n] != nil {
			continue
		}
		var now time.Time
		if now, errs[n] = i.w.Clock(ctx, keys[n], clocks); errs[n] != nil {
			continue
		}
		from, to := now.Add(-named).UnixMilli(), fmt.Sprintf("(%d", now.UnixMilli())
		for _, key := range []string{keys[n], protocol.GoneKey(i.w.Qualified(t.Name))} {
			cmds[n] = append(cmds[n], redis.NewZSliceCmd(ctx, "zrange", key, to, from, "byscore", "rev", "limit", 0, most, "withscores"))
		}
		sent = append(sent, cmds[n]...)
	}
	script.ExecOnce(ctx, i.w.Redis, sent...)
	for n, t := range topics {
		for _, cmd := range cmds[n] {
			members, err := cmd.(*redis.ZSliceCmd).Result()
			errs[n] = cmp.Or(errs[n], err)
			for _, z := range members {
				id, _ := z.Member.(string)
				if known[id] == nil {
					known[id] = &Vanished{Worker: id}
				}
				known[id].add(t.Name, time.UnixMilli(score.Whole(z.Score)))
			}
		}
		if err := errs[n]; err != nil {
			err = fmt.Errorf("read which workers vanished from topic %s: %w", t.Name, i.w.Explain(err))
			if err := failed.Add(ctx, t.Name, -1, keys[n], err); err != nil {
				return err
			}
		}
	}
	return failed.Err()
}

// add notes that it vanished from a topic, too.
func (v *Vanished) add(topic string, until time.Time) {
	if !slices.Contains(v.Topics, topic) {
		v.Topics = append(v.Topics, topic)
		slices.Sort(v.Topics)
	}
	v.Until = ask.Later(v.Until, until)
}
