package byhand

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/luascripts"
)

var purgeScript = script.New(luascripts.Source("byhand/purge.lua"))

// PurgePart is a part of what waits in a slot.
type PurgePart string

// The parts.
const (
	PurgeWaiting PurgePart = "W" // first deliveries in the store
	PurgeFailed  PurgePart = "F" // in the store, too: failed ones of a literal topic, tried again at once
	PurgeRetry   PurgePart = "R"
)

// Purge says what to remove from a slot.
type Purge struct {
	Part  PurgePart
	Most  int  // contents, 400 at most
	Bytes int  // of them, but for the first one
	Tell  bool // their contents
}

// PurgeCmd removes the first contents of a part. notes tells whether the topic has notes.
//
// The Redis client does not repeat the command by itself: the second try would remove others.
func PurgeCmd(ctx context.Context, k protocol.SlotKeys, notes bool, p Purge) redis.Cmder {
	keys := []any{k.Store, k.Prepare, k.Retry, k.Dead, k.Why, k.Seen()}
	if notes {
		keys = append(keys, k.Note())
	}
	tell := 0
	if p.Tell {
		tell = 1
	}
	args := append(purgeScript.Call(len(keys), len(keys)+4), keys...)
	return script.Once{StringSliceCmd: redis.NewStringSliceCmd(ctx, append(args, string(p.Part), p.Most, p.Bytes, tell)...)}
}

// Purged reads the answer to a command of [PurgeCmd]: how many were removed, and their contents if they were asked for.
func Purged(k protocol.SlotKeys, cmd redis.Cmder) (n int, contents []string, err error) {
	if err := script.Err(cmd); err != nil {
		return 0, nil, fmt.Errorf("purge slot %s: %w", k.Store, err)
	}
	r := cmd.(script.Once).Val()
	if n, err = strconv.Atoi(r[0]); err != nil {
		return 0, nil, fmt.Errorf("purge slot %s: %w", k.Store, err)
	}
	return n, r[1:], nil
}
