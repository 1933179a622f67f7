package protocol

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/luascripts"
)

var (
	touchScript   = script.New(luascripts.Source("touch.lua"))
	cancelScript  = script.New(luascripts.Source("cancel.lua"))
	membersScript = script.New(luascripts.Source("members.lua"))
)

// Keep begins the lease of the worker's batch anew, if it has one, and reports whether the
// worker still holds the batch. On false it must stop working on it. Keep also returns which
// messages of the batch are to be cancelled.
func (s *Scripts) Keep(ctx context.Context, k SlotKeys, worker string, number int64, leased bool) (held bool, c Cancels, err error) {
	touch := redis.NewIntCmd(ctx, append(touchScript.Call(1, 3), k.Meta, worker, number)...)
	noted := redis.NewStringCmd(ctx, "hget", k.Meta, "cancel")
	if leased {
		s.Exec(ctx, touch, noted)
	} else {
		s.Exec(ctx, noted)
		touch.SetVal(1)
	}
	if err = touch.Err(); err == nil && noted.Err() != redis.Nil {
		err = noted.Err()
	}
	if err != nil {
		return false, nil, fmt.Errorf("touch batch %d in %s: %w", number, k.Meta, err)
	}
	return touch.Val() == 1, parseCancels(noted.Val(), number), nil
}

// Cancel removes a message that waits in a slot. notes tells whether the topic has notes. A copy in
// flight is reported, and its worker is asked to end it: see [Cancels]. The content may be sent as a
// unique one again. The Redis client does not repeat the call by itself: what the first try removed
// would be reported as not there.
func (s *Scripts) Cancel(ctx context.Context, k SlotKeys, notes bool, content string) (removed, inFlight bool, err error) {
	keys := []any{k.Store, k.Prepare, k.Retry, k.Dead, k.Why, k.Meta, beside("seen", k.Store)}
	if notes {
		keys = append(keys, k.Note())
	}
	args := append(append(cancelScript.Call(len(keys), len(keys)+1), keys...), content)
	cmd := script.Once{StringSliceCmd: redis.NewStringSliceCmd(ctx, args...)}
	s.Exec(ctx, cmd)
	r, err := cmd.Result()
	if err != nil {
		return false, false, fmt.Errorf("cancel in slot %s: %w", k.Store, err)
	}
	return r[0] == "1", r[1] == "1", nil
}

// MembersCmd adds the worker to the topic's list of members that share its slots by Redis,
// or takes it out. The worker counts for ttl from now on.
func (s *Scripts) MembersCmd(ctx context.Context, topic, worker string, ttl time.Duration, here bool) redis.Cmder {
	stay := 0
	if here {
		stay = 1
	}
	return redis.NewStringSliceCmd(ctx, append(membersScript.Call(2, 5), WorkersKey(topic), GoneKey(topic), worker, ttl.Milliseconds(), stay)...)
}

// MembersAnswer reads the answer to a command of [Scripts.MembersCmd] that was sent: the
// list, and whether it has changed since the last call of any worker.
func MembersAnswer(topic, worker string, cmd redis.Cmder) (members []string, changed bool, err error) {
	reply, err := cmd.(*redis.StringSliceCmd).Result()
	if err != nil {
		return nil, false, fmt.Errorf("add or remove worker %s in %s: %w", worker, WorkersKey(topic), err)
	}
	return reply[1:], reply[0] == "1", nil
}

// Probing notes that a worker only probes at a topic since a time, or does not, if that is zero.
// Redis forgets what is noted of the topic some time after the last note.
func (s *Scripts) Probing(ctx context.Context, topic, worker string, since time.Time, after time.Duration) error {
	key := ProbingKey(topic)
	cmds := []redis.Cmder{redis.NewIntCmd(ctx, "hdel", key, worker)}
	if !since.IsZero() {
		cmds = []redis.Cmder{
			redis.NewIntCmd(ctx, "hset", key, worker, since.UnixMilli()),
			redis.NewBoolCmd(ctx, "pexpire", key, after.Milliseconds()),
		}
	}
	s.Exec(ctx, cmds...)
	for _, cmd := range cmds {
		if err := cmd.Err(); err != nil {
			return fmt.Errorf("note in %s that a worker probes: %w", key, err)
		}
	}
	return nil
}
