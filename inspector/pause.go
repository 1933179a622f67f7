package inspector

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/nodes"
	"github.com/slotmq/go-rmq/luascripts"
)

// Pause stops slots of a topic, nil meaning all: from then on no worker takes anything from
// them. What is in flight is finished. It tells how many were not paused before.
func (i *Inspector) Pause(ctx context.Context, topic string, slots []int) (changed int, err error) {
	return i.pause(ctx, topic, slots, true)
}

// Resume lets slots go on, nil meaning all, and wakes their workers. It tells how many were
// paused.
func (i *Inspector) Resume(ctx context.Context, topic string, slots []int) (changed int, err error) {
	return i.pause(ctx, topic, slots, false)
}

func (i *Inspector) pause(ctx context.Context, topic string, slots []int, pause bool) (changed int, err error) {
	verb := "resume"
	if pause {
		verb = "pause"
	}
	t, err := i.Topic(ctx, topic)
	if err != nil {
		return 0, err
	}
	which, err := chosen(t, slots)
	if err != nil {
		return 0, fmt.Errorf("%s topic %s: %w", verb, topic, err)
	}
	for some := range slices.Chunk(which, perPipeline) {
		answers, err := ofSlots(ctx, i, t, some, func(k luascripts.SlotKeys) *redis.StringSliceCmd {
			return i.scripts.PauseCmd(ctx, k, pause)
		}, func(k luascripts.SlotKeys, cmd *redis.StringSliceCmd) (bool, error) {
			changed, _, err := luascripts.PauseAnswer(k, cmd)
			return changed, err
		})
		for _, yes := range answers {
			if yes {
				changed++
			}
		}
		if !pause {
			i.wake(ctx, t, some, 0)
		}
		if err != nil {
			return changed, fmt.Errorf("%s topic %s: %w", verb, topic, err)
		}
	}
	return changed, nil
}

// wake has the workers of slots look at them when something there will be due. Workers look
// by themselves now and then, so a wake-up that gets lost costs time and nothing else.
func (i *Inspector) wake(ctx context.Context, t Topic, which []int, in time.Duration) {
	for some := range slices.Chunk(which, perPipeline) {
		var payload []byte
		for _, slot := range some {
			payload = luascripts.AppendWake(payload, slot, in)
		}
		// Not just any server of a Cluster, which may hang: one that has just answered.
		server, _, err := nodes.MasterFor(ctx, i.rdb, i.keys(t, some[0]).Store)
		if err == nil {
			_ = server.Publish(ctx, luascripts.WakeChannel(i.qualified(t.Name)), payload).Err()
		}
	}
}
