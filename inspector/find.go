package inspector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/hash"
	"github.com/slotmq/go-rmq/internal/protocol/score"
	"github.com/slotmq/go-rmq/message"
)

// place is a slot that has a message, and where it is there.
type place struct {
	byhand.Found
	slot int
}

// lookUp finds the slots that have a message. It looks in the slot of the basis. Without a
// basis it looks in the slot of the content, and if it is not there, in all slots.
func lookUp(ctx context.Context, i *Inspector, t Topic, content, basis string) ([]place, error) {
	there, err := lookIn(ctx, i, t, content, []int{hash.Slot(cmp.Or(basis, content), t.Slots)})
	if (&ask.Failures{}).Merge(err) != nil || len(there) > 0 || basis != "" {
		return there, err
	}
	return lookIn(ctx, i, t, content, ask.AllSlots(t))
}

func lookIn(ctx context.Context, i *Inspector, t Topic, content string, which []int) ([]place, error) {
	priority := !t.Kind.Timed()
	found, which, err := ask.OfSlots(ctx, i.w.Ground, t, which, func(k protocol.SlotKeys) *redis.StringSliceCmd {
		return byhand.FindCmd(ctx, k, t.Notes, priority, content)
	}, byhand.FindAnswer)
	var there []place
	for n, f := range found {
		if !f.Nowhere() {
			there = append(there, place{f, which[n]})
		}
	}
	return there, err
}

// timesIn are the scores of a content in one sorted set of each slot, as times; zero if it has none.
func timesIn(ctx context.Context, i *Inspector, t Topic, which []int, content string, key func(protocol.SlotKeys) string) ([]time.Time, []int, error) {
	return ask.OfSlots(ctx, i.w.Ground, t, which, func(k protocol.SlotKeys) *redis.FloatCmd {
		return redis.NewFloatCmd(ctx, "zscore", key(k), content)
	}, func(k protocol.SlotKeys, cmd *redis.FloatCmd) (time.Time, error) {
		ms, err := cmd.Result()
		if errors.Is(err, redis.Nil) {
			return time.Time{}, nil
		}
		return time.UnixMilli(score.Whole(ms)), ask.At(key(k), err)
	})
}

// whereItWaits does something to a message in the slot of its basis. Without a basis that is
// the slot of the content, or if nothing could be done there, the one in which it waits. In
// that case it returns all places where the message is.
func whereItWaits(ctx context.Context, i *Inspector, t Topic, content, basis string, do func(slot int) (done bool, err error)) ([]place, error) {
	if content == "" {
		return nil, &message.InvalidError{Field: "Content", Value: "empty", Limit: "what was sent"}
	}
	done, err := do(hash.Slot(cmp.Or(basis, content), t.Slots))
	if done || err != nil || basis != "" {
		return nil, err
	}
	all, _ := ask.Chosen(t, nil)
	there, err := lookIn(ctx, i, t, content, all)
	if err != nil {
		return nil, err
	}
	return there, inTheOne(there, func(p place) bool { return p.Stored > 0 || !p.Retry.IsZero() }, do)
}

// inTheOne does something in the slot of the only place that is so. If there are several, it
// returns an error that names them, and does nothing.
func inTheOne(there []place, is func(place) bool, do func(slot int) (bool, error)) error {
	var slots []string
	at := 0
	for _, p := range there {
		if is(p) {
			slots, at = append(slots, strconv.Itoa(p.slot)), p.slot
		}
	}
	switch n := len(slots); n {
	case 0:
		return nil
	case 1:
		_, err := do(at)
		return err
	default:
		return fmt.Errorf("%w, %s and %s: give the basis it was sent with", ErrSeveral, strings.Join(slots[:n-1], ", "), slots[n-1])
	}
}
