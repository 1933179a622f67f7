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

var restoreScript = script.New(luascripts.Source("byhand/restore.lua"))

// Lost is a message that Redis has lost.
type Lost struct {
	Content string
	Score   int64          // when it is due, in ms, or its priority
	Note    *protocol.Note // in a topic with notes; nil: nothing is known

	// Dead, it died then, and Why says of what.
	Dead bool
	Died time.Time
	Why  protocol.Failure
}

// RestoreCmd brings messages of one slot back, 500 at most, unless they are there. The slot's number is not below
// the given one afterwards, so that fences go on growing; 0: none is known.
func RestoreCmd(ctx context.Context, k protocol.SlotKeys, notes bool, number int64, lost []Lost) redis.Cmder {
	args := append(callWith(restoreScript, k, notes), any(number))
	for i := range lost {
		switch l := &lost[i]; {
		case l.Dead:
			args = append(args, "D", l.Died.UnixMilli(), l.Content, l.Why.String())
		case l.Note != nil:
			args = append(args, "W", l.Score, l.Content, l.Note.String())
		default:
			args = append(args, "W", l.Score, l.Content, "")
		}
	}
	cmd := redis.NewStringSliceCmd(ctx, args...)
	if lost == nil { // the number may be raised as often as one likes
		return cmd
	}
	return script.Once{StringSliceCmd: cmd}
}

// Restored reads the answer to a command of [RestoreCmd] that was sent: which messages were brought
// back. The others were there.
func Restored(k protocol.SlotKeys, cmd redis.Cmder) ([]bool, error) {
	if err := script.Err(cmd); err != nil {
		return nil, fmt.Errorf("restore slot %s: %w", k.Store, err)
	}
	words := cmd.(interface{ Val() []string }).Val()
	stored := make([]bool, len(words))
	for i, word := range words {
		stored[i] = word == "STORED"
	}
	return stored, nil
}
