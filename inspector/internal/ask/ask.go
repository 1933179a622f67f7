package ask

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/rights"
	"github.com/slotmq/go-rmq/message"
)

// What most questions about a topic need.

// PerPipeline is how many calls go out at once.
const PerPipeline = 100

// OfSlots asks one question about each slot, in pipelines. The answers come in the order of
// the slots, which it returns, too: with a [PartialError] these are the ones that could be
// asked about.
func OfSlots[C redis.Cmder, A any](
	ctx context.Context, g *Ground, t Topic, which []int,
	question func(protocol.SlotKeys) C, answer func(protocol.SlotKeys, C) (A, error),
) (answers []A, read []int, err error) {
	failed := g.Failing()
	for some := range slices.Chunk(which, PerPipeline) {
		keys, cmds := make([]protocol.SlotKeys, len(some)), make([]C, len(some))
		stores := make([]string, len(some))
		for n, slot := range some {
			keys[n] = g.Keys(t.Name, slot)
			stores[n] = keys[n].Store
		}
		var sent []redis.Cmder
		silent := g.Masters.Silent(ctx, g.Redis, stores)
		for n, k := range keys {
			if silent[n] == nil {
				cmds[n] = question(k)
				sent = append(sent, cmds[n])
			}
		}
		script.Exec(ctx, g.Redis, sent...)
		for n, slot := range some {
			var a A
			err := silent[n]
			if err == nil {
				a, err = answer(keys[n], cmds[n])
			}
			if err == nil {
				answers, read = append(answers, a), append(read, slot)
			} else if err := failed.Add(ctx, t.Name, slot, stores[n], g.Explain(err)); err != nil {
				return nil, nil, err
			}
		}
	}
	return answers, read, failed.Err()
}

// Chosen are the slots that were named, ascending, or all of the topic.
func Chosen(t Topic, which []int) ([]int, error) {
	for _, slot := range which {
		if slot < 0 || slot >= t.Slots {
			return nil, &message.InvalidError{
				Field: "slot", Value: strconv.Itoa(slot), Limit: fmt.Sprintf("from 0 to %d in topic %s", t.Slots-1, t.Name),
			}
		}
	}
	if which != nil {
		return slices.Compact(slices.Sorted(slices.Values(which))), nil
	}
	return AllSlots(t), nil
}

func AllSlots(t Topic) []int {
	all := make([]int, t.Slots)
	for slot := range all {
		all[slot] = slot
	}
	return all
}

// Counts counts slots of a topic, by [ofSlots].
func (g *Ground) Counts(ctx context.Context, t Topic, which []int) (counts []byhand.Counts, read []int, err error) {
	priority := !t.Kind.Timed()
	return OfSlots(ctx, g, t, which, func(k protocol.SlotKeys) *redis.StringSliceCmd {
		return byhand.CountCmd(ctx, k, priority)
	}, byhand.CountAnswer)
}

// Wake makes the workers of slots look at them when something there will be due. Workers also
// look now and then without being woken, so a wake-up that gets lost costs only time.
func (g *Ground) Wake(ctx context.Context, t Topic, which []int, in time.Duration) {
	for some := range slices.Chunk(which, PerPipeline) {
		var payload []byte
		for _, slot := range some {
			payload = protocol.AppendWake(payload, slot, in)
		}
		g.Publish(ctx, t, some[0], payload)
	}
}

// Publish publishes something to the workers of a topic through the server of a slot: not just
// any of a Cluster, which may hang, but one that has just answered.
func (g *Ground) Publish(ctx context.Context, t Topic, slot int, payload []byte) {
	server, _, err := cluster.MasterFor(ctx, g.Redis, g.Keys(t.Name, slot).Store)
	if err == nil {
		_ = server.Publish(ctx, protocol.WakeChannel(g.Qualified(t.Name)), payload).Err()
	}
}

// Explain adds what to do to an error that says what the Redis user may not do.
func (g *Ground) Explain(err error) error { return rights.Explain(err, rights.User(g.Redis)) }

// At names the key that an error is about.
func At(key string, err error) error {
	if err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	return nil
}
