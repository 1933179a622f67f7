package protocol

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/luascripts"
)

var forgetScript = script.New(luascripts.Source("forget.lua"))

// ForgetCmd removes the notes of those of some contents of a slot that are over: they neither
// wait, nor are in flight, nor wait for a retry.
func (s *Scripts) ForgetCmd(ctx context.Context, k SlotKeys, contents []string) redis.Cmder {
	args := forgetArgs(k, len(contents), "")
	for i := range contents {
		args = append(args, contents[i])
	}
	return redis.NewStringSliceCmd(ctx, args...)
}

// SweepCmd removes the notes of contents that are over in the next piece of all notes of a slot:
// of 100 contents, more or less, or fewer if they are large. The first piece is at cursor 0.
func (s *Scripts) SweepCmd(ctx context.Context, k SlotKeys, cursor uint64) redis.Cmder {
	return redis.NewStringSliceCmd(ctx, forgetArgs(k, 0, strconv.FormatUint(cursor, 10))...)
}

func forgetArgs(k SlotKeys, contents int, cursor string) []any {
	return append(forgetScript.Call(4, 5+contents), k.Store, k.Prepare, k.Retry, k.Note(), cursor)
}

// ForgetAnswer reads the answer to a command of [Scripts.ForgetCmd] or [Scripts.SweepCmd] that was
// sent: how many notes were removed, and the cursor of the next piece, 0 after the last one.
func ForgetAnswer(cmd redis.Cmder) (removed int, cursor uint64, err error) {
	r, err := cmd.(*redis.StringSliceCmd).Val(), script.Err(cmd)
	if err == nil {
		if removed, err = strconv.Atoi(r[0]); err == nil {
			cursor, err = strconv.ParseUint(r[1], 10, 64)
		}
	}
	if err != nil {
		return 0, 0, fmt.Errorf("forget notes of what is over: %w", err)
	}
	return removed, cursor, nil
}
