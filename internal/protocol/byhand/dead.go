package byhand

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/luascripts"
)

var deadScript = script.New(luascripts.Source("byhand/dead.lua"))

// DeadItem is a dead message, and when it died. One that has died again since is another
// item.
type DeadItem struct {
	Content string
	Died    time.Time
}

// DeadResult is what became of a dead message.
type DeadResult string

// The results.
const (
	Stored  DeadResult = "STORED"  // it waits like a new one
	Merged  DeadResult = "MERGED"  // a live copy goes on, and this one is gone
	Deleted DeadResult = "DELETED" // it is gone
	Gone    DeadResult = "GONE"    // it was not dead any more, or had died again
	Unknown DeadResult = "UNKNOWN" // its priority is not known; it is still dead
)

// RequeueCmd delivers dead messages of a topic with notes, or without, again, with all deliveries.
// They are due now, or in a priority topic have the priority given or, if that is 0, each its own.
//
// The Redis client does not repeat the command by itself: what the first try did would be
// reported as Gone.
func RequeueCmd(ctx context.Context, k protocol.SlotKeys, notes, priority bool, give int64, dead []DeadItem) redis.Cmder {
	return takeOut(ctx, callWith(deadScript, k, notes), kindOf(priority), give, dead)
}

// DeleteCmd forgets dead messages. Like that of [RequeueCmd], the command is not repeated.
func DeleteCmd(ctx context.Context, k protocol.SlotKeys, dead []DeadItem) redis.Cmder {
	return takeOut(ctx, callWith(deadScript, k, false), "D", 0, dead)
}

func takeOut(ctx context.Context, args []any, verb string, give int64, dead []DeadItem) redis.Cmder {
	args = slices.Grow(append(args, verb), 1+2*len(dead))
	if give == 0 {
		args = append(args, "")
	} else {
		args = append(args, give)
	}
	for _, d := range dead {
		args = append(args, d.Content, d.Died.UnixMilli())
	}
	return script.Once{StringSliceCmd: redis.NewStringSliceCmd(ctx, args...)}
}

// DeadResults reads the answer to a command of [RequeueCmd] or [DeleteCmd].
func DeadResults(k protocol.SlotKeys, cmd redis.Cmder) ([]DeadResult, error) {
	if err := script.Err(cmd); err != nil {
		return nil, fmt.Errorf("requeue or delete dead messages of slot %s: %w", k.Store, err)
	}
	r := cmd.(script.Once).Val()
	results := make([]DeadResult, len(r))
	for i, word := range r {
		results[i] = DeadResult(word)
	}
	return results, nil
}
