package byhand

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/protocol/score"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/luascripts"
)

var findScript = script.New(luascripts.Source("byhand/find.lua"))

// Found is where one message is. It may be in several places: a new copy waits while an
// older one is in flight, waits for its retry, or is dead.
type Found struct {
	Holder
	Now      time.Time // of the server
	Stored   int64     // its score in the store, at least 1, which is a last delivery; 0: not there
	Before   int       // how many of the store go before it for certain
	Beside   int       // in a priority topic: how many others of the store have its priority
	InFlight bool
	Retry    time.Time         // when its retry is due; zero: none waits
	Left     int               // retries left, of the copy in flight or before its retry; 17: that is a first delivery
	Died     time.Time         // zero: not dead
	Why      *protocol.Failure // nil: nothing is known
	Batch    int               // how many contents of the slot are in flight
	Taken    time.Time         // to the second: when they were
	Attempt  int               // of them
	Note     *protocol.Note    // of the copy that waits, also for its retry, or else of the one in flight; nil: there is none
}

// Nowhere reports whether the message is in none of the places.
func (f *Found) Nowhere() bool {
	return f.Stored == 0 && !f.InFlight && f.Retry.IsZero() && f.Died.IsZero()
}

// FindCmd looks for a message in one slot. notes tells whether the topic has notes.
func FindCmd(ctx context.Context, k protocol.SlotKeys, notes, priority bool, content string) *redis.StringSliceCmd {
	return redis.NewStringSliceCmd(ctx, append(callWith(findScript, k, notes), kindOf(priority), content)...)
}

// callWith begins a call of a script that has the six keys of a slot, and that of the notes where
// the topic has them.
func callWith(x *script.Script, k protocol.SlotKeys, notes bool) []any {
	keys := 6
	if notes {
		keys++
	}
	args := append(x.Call(keys, keys+2), k.Store, k.Prepare, k.Retry, k.Dead, k.Meta, k.Why)
	if notes {
		args = append(args, k.Note())
	}
	return args
}

// FindAnswer reads the answer to a command of [FindCmd].
func FindAnswer(k protocol.SlotKeys, cmd *redis.StringSliceCmd) (f Found, err error) {
	r, err := cmd.Val(), script.Err(cmd)
	if err != nil {
		return f, fmt.Errorf("look for a message in slot %s: %w", k.Store, err)
	}
	n := numbers(r)
	f = Found{
		Now: score.Time(n[0]), Stored: stored(r[1]), InFlight: r[2] != "",
		Before: int(n[6]), Beside: int(n[7]), Batch: int(n[8]), Holder: holder(r[10:]),
	}
	if why, ok := protocol.ParseFailure(r[5]); ok {
		f.Why = &why
	}
	if r[3] != "" {
		f.Retry = time.UnixMilli(n[3] / 100)
	}
	if r[4] != "" {
		f.Died = time.UnixMilli(n[4])
	}
	switch {
	case f.InFlight:
		f.Left = left(n[2], 1000, 0, limits.Retries)
	case r[3] != "":
		f.Left = left(n[3], 100, 1, limits.Deliveries)
	case f.Stored > 0 && f.Stored <= limits.Retries: // a failed one of a literal topic
		f.Left = int(f.Stored)
	}
	f.Taken, f.Attempt = mark(r[9])
	// The last send of what waits, also for its retry, has left the note. That of what is only in
	// flight may be of a copy that was cancelled since.
	waits := f.Stored > 0 || !f.Retry.IsZero()
	if note, ok := protocol.ParseNote(r[15]); ok && (waits || f.InFlight && note.Tells(f.Fence)) {
		f.Note = &note
	}
	return f, nil
}
