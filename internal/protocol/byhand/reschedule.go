package byhand

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/score"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/luascripts"
)

var rescheduleScript = script.New(luascripts.Source("byhand/reschedule.lua"))

// Move is what becomes of a message's time or priority.
type Move struct {
	At       time.Time     // if it is not zero
	In       time.Duration // from now on by the server's clock, if it has no other
	Priority int64         // if it is not 0

	// RetryOnly leaves a copy in the store as it is: in a priority topic a time would
	// become its priority.
	RetryOnly bool
}

// Place is where a message was that is to be rescheduled.
type Place string

// The places.
const (
	InStore  Place = "STORE"  // it waited, and has its new score
	InRetry  Place = "RETRY"  // it waits for its retry, at the new time if one was given
	AtOnce   Place = "FAILED" // it failed in a literal topic, and goes first anyway
	InFlight Place = "FLYING" // a worker has it
	Nowhere  Place = "NOWHERE"
)

// Reschedule gives a message that waits another time or priority. Before and after are its
// scores where it waits.
func Reschedule(ctx context.Context, rdb redis.UniversalClient, k protocol.SlotKeys, content string, m Move) (where Place, before, after int64, err error) {
	verb, number := "IN", m.In.Milliseconds()
	switch {
	case m.Priority != 0:
		verb, number = "PRIORITY", m.Priority
	case !m.At.IsZero():
		verb, number = "AT", m.At.UnixMilli()
	}
	stays := 0
	if m.RetryOnly {
		stays = 1
	}
	cmd := redis.NewStringSliceCmd(ctx, append(rescheduleScript.Call(4, 8), k.Store, k.Prepare, k.Retry, k.Meta, content, verb, number, stays)...)
	script.Exec(ctx, rdb, cmd)
	r, err := cmd.Val(), script.Err(cmd)
	if err != nil {
		return "", 0, 0, fmt.Errorf("reschedule a message in slot %s: %w", k.Store, err)
	}
	return Place(r[0]), score.Parse(r[1]), score.Parse(r[2]), nil
}
