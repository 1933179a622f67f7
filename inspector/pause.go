package inspector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
)

// Pause stops slots of a topic, nil meaning all: from then on no worker takes anything from
// them. What is in flight is finished. It returns how many were not paused before. If some
// slots cannot be reached, the others are paused all the same, and the error names the slots
// that may not be.
func (i *Inspector) Pause(ctx context.Context, topic string, slots []int) (changed int, err error) {
	return pause(ctx, i, topic, slots, true)
}

// Resume lets slots go on, nil meaning all, and wakes their workers. It returns how many were
// paused. Slots that cannot be reached are reported as by Pause.
func (i *Inspector) Resume(ctx context.Context, topic string, slots []int) (changed int, err error) {
	return pause(ctx, i, topic, slots, false)
}

func pause(ctx context.Context, i *Inspector, topic string, slots []int, pause bool) (changed int, err error) {
	verb := "resume"
	if pause {
		verb = "pause"
	}
	t, err := i.w.About(ctx, verb+" topic "+topic, topic)
	if err != nil {
		return 0, err
	}
	which, err := ask.Chosen(t, slots)
	if err != nil {
		return 0, fmt.Errorf("%s topic %s: %w", verb, topic, err)
	}
	changed, failed, err := pauseEach(ctx, i, t, which, pause)
	switch left := len(which) - len(failed); {
	case err == nil:
		return changed, nil
	case left == 0:
		return 0, fmt.Errorf("%s topic %s: %w", verb, topic, err)
	default:
		word := "slot"
		if len(failed) > 1 {
			word = "slots"
		}
		return changed, fmt.Errorf("%s topic %s: %d of %d slots are %sd; %s %s perhaps not: %w",
			verb, topic, left, len(which), verb, word, ask.Enough(failed, ", "), err)
	}
}

// pauseEach tries all the slots. It returns which ones failed, and the first error. A server
// that does not answer is not asked again.
func pauseEach(ctx context.Context, i *Inspector, t Topic, which []int, pause bool) (changed int, failed []string, first error) {
	gone := map[string]bool{} // by address
	for some := range slices.Chunk(which, ask.PerPipeline) {
		var tried, done []int
		var at []string // which server
		var cmds []redis.Cmder
		for _, slot := range some {
			k := i.w.Keys(t.Name, slot)
			_, addr, _ := cluster.MasterFor(ctx, i.w.Redis, k.Meta)
			if gone[addr] {
				failed = append(failed, strconv.Itoa(slot))
				continue
			}
			tried, at, cmds = append(tried, slot), append(at, addr), append(cmds, byhand.PauseCmd(ctx, k, pause))
		}
		script.Exec(ctx, i.w.Redis, cmds...)
		for n, slot := range tried {
			yes, _, err := byhand.PauseAnswer(i.w.Keys(t.Name, slot), cmds[n].(*redis.StringSliceCmd))
			var reply redis.Error
			switch {
			case err != nil:
				gone[at[n]] = gone[at[n]] || !errors.As(err, &reply)
				failed = append(failed, strconv.Itoa(slot))
				first = cmp.Or(first, i.w.Explain(err))
				continue
			case yes:
				changed++
			}
			done = append(done, slot)
		}
		if !pause {
			i.w.Wake(ctx, t, done, 0)
		}
	}
	return changed, failed, first
}
