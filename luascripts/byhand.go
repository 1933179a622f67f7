package luascripts

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// The scripts by which people change things.

// Pause stops a slot, or with false lets it go on. It reports whether that changed
// anything, and since when the slot was paused before; zero: it was not.
func (s *Scripts) Pause(ctx context.Context, k SlotKeys, pause bool) (changed bool, before time.Time, err error) {
	cmd := s.PauseCmd(ctx, k, pause)
	s.Exec(ctx, cmd)
	return PauseAnswer(k, cmd)
}

// PauseCmd is the command of Pause, to be sent with others by [Scripts.Exec].
func (s *Scripts) PauseCmd(ctx context.Context, k SlotKeys, pause bool) *redis.StringSliceCmd {
	verb := 0
	if pause {
		verb = 1
	}
	return redis.NewStringSliceCmd(ctx, append(s.pause.begin(2, 1), k.Meta, verb)...)
}

// PauseAnswer reads its answer.
func PauseAnswer(k SlotKeys, cmd *redis.StringSliceCmd) (changed bool, before time.Time, err error) {
	r, err := cmd.Result()
	if err != nil {
		return false, before, fmt.Errorf("pause or resume slot %s: %w", k.Store, k.wrongType(pauseSource, err))
	}
	return r[0] == "1", since(r[1]), nil
}

// CancelOnce is Cancel without the Redis client repeating it by itself: what the first try
// removed would be told as not there.
func (s *Scripts) CancelOnce(ctx context.Context, k SlotKeys, content string) (removed, inFlight bool, err error) {
	cmd := Call{redis.NewStringSliceCmd(ctx, s.cancelArgs(k, content)...)}
	s.Exec(ctx, cmd)
	r, err := cmd.Result()
	if err != nil {
		return false, false, fmt.Errorf("cancel in slot %s: %w", k.Store, err)
	}
	return r[0] == "1", r[1] == "1", nil
}

// Corpse is a dead content, and when it died. One that has died again since is
// another.
type Corpse struct {
	Content string
	Died    time.Time
}

// Fortune is what became of a dead content.
type Fortune string

// The fortunes.
const (
	Revived Fortune = "STORED"  // it waits like a new one
	Merged  Fortune = "MERGED"  // a live copy goes on, and this one is gone
	Deleted Fortune = "DELETED" // it is gone
	Gone    Fortune = "GONE"    // it was not dead any more, or had died again
	Unknown Fortune = "UNKNOWN" // nobody knows its priority; it is dead still
)

// Requeue has dead contents delivered again, with all deliveries. They are due
// now, or in a priority topic have the priority given or, if that is 0, each its
// own.
func (s *Scripts) Requeue(ctx context.Context, k SlotKeys, priority bool, give int64, dead []Corpse) ([]Fortune, error) {
	cmd := s.RequeueCmd(ctx, k, priority, give, dead)
	s.Exec(ctx, cmd)
	return Fortunes(k, cmd)
}

// Delete forgets dead contents.
func (s *Scripts) Delete(ctx context.Context, k SlotKeys, dead []Corpse) ([]Fortune, error) {
	cmd := s.DeleteCmd(ctx, k, dead)
	s.Exec(ctx, cmd)
	return Fortunes(k, cmd)
}

// RequeueCmd is the command of Requeue, to be sent with others by [Scripts.Exec]. The
// Redis client does not repeat it by itself: what the first try did would be told as
// Gone.
func (s *Scripts) RequeueCmd(ctx context.Context, k SlotKeys, priority bool, give int64, dead []Corpse) Call {
	return s.exhume(ctx, k, kindOf(priority), give, dead)
}

// DeleteCmd is that of Delete.
func (s *Scripts) DeleteCmd(ctx context.Context, k SlotKeys, dead []Corpse) Call {
	return s.exhume(ctx, k, "D", 0, dead)
}

func (s *Scripts) exhume(ctx context.Context, k SlotKeys, verb string, give int64, dead []Corpse) Call {
	args := append(s.dead.begin(8+2*len(dead), 6), k.Store, k.Prepare, k.Retry, k.Dead, k.Meta, k.Why, verb)
	if give == 0 {
		args = append(args, "")
	} else {
		args = append(args, give)
	}
	for _, d := range dead {
		args = append(args, d.Content, d.Died.UnixMilli())
	}
	return Call{redis.NewStringSliceCmd(ctx, args...)}
}

// Fortunes reads the answer of an executed command of [Scripts.RequeueCmd] or
// [Scripts.DeleteCmd].
func Fortunes(k SlotKeys, cmd Call) ([]Fortune, error) {
	r, err := cmd.Result()
	if err != nil {
		return nil, fmt.Errorf("requeue or delete dead contents of slot %s: %w", k.Store, k.wrongType(deadSource, err))
	}
	fortunes := make([]Fortune, len(r))
	for i, word := range r {
		fortunes[i] = Fortune(word)
	}
	return fortunes, nil
}

// Place is where a content was that is to be rescheduled.
type Place string

// The places.
const (
	InStore Place = "STORE"  // it waited, and has its new score
	InRetry Place = "RETRY"  // it waits for its retry, at the new time if one was given
	AtOnce  Place = "FAILED" // it failed in a literal topic, and goes first anyway
	Flying  Place = "FLYING" // it is in flight
	Nowhere Place = "NOWHERE"
)

// Move is what becomes of a content's time or priority.
type Move struct {
	At       time.Time     // if it is not zero
	In       time.Duration // from now on by the server's clock, if it has no other
	Priority int64         // if it is not 0

	// RetryOnly leaves a copy in the store as it is: in a priority topic, where a time
	// would become its priority.
	RetryOnly bool
}

// Reschedule gives a content that waits another time or priority. Before and after
// are its scores where it waits.
func (s *Scripts) Reschedule(ctx context.Context, k SlotKeys, content string, m Move) (where Place, before, after int64, err error) {
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
	cmd := redis.NewStringSliceCmd(ctx, append(s.reschedule.begin(7, 3), k.Store, k.Prepare, k.Retry, content, verb, number, stays)...)
	s.Exec(ctx, cmd)
	r, err := cmd.Result()
	if err != nil {
		return "", 0, 0, fmt.Errorf("reschedule a content in slot %s: %w", k.Store, k.wrongType(rescheduleSource, err))
	}
	return Place(r[0]), score(r[1]), score(r[2]), nil
}
