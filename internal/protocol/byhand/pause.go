package byhand

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/luascripts"
)

var pauseScript = script.New(luascripts.Source("byhand/pause.lua"))

// PauseCmd stops a slot, or with false lets it go on.
func PauseCmd(ctx context.Context, k protocol.SlotKeys, pause bool) *redis.StringSliceCmd {
	verb := 0
	if pause {
		verb = 1
	}
	return redis.NewStringSliceCmd(ctx, append(pauseScript.Call(1, 2), k.Meta, verb)...)
}

// PauseAnswer reads the answer to a command of [PauseCmd]: whether it changed anything, and
// since when the slot was paused before; zero: it was not.
func PauseAnswer(k protocol.SlotKeys, cmd *redis.StringSliceCmd) (changed bool, before time.Time, err error) {
	r, err := cmd.Val(), script.Err(cmd)
	if err != nil {
		return false, before, fmt.Errorf("pause or resume slot %s: %w", k.Store, err)
	}
	return r[0] == "1", since(r[1]), nil
}
