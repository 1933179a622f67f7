package luascripts

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// The scripts that only read, for people who look. Each answer is a picture of
// one moment of one slot.

// Holder is who has the batch in flight, as meta knows it. In [Counts] and [Found] it may be over: who
// holds a slot stays noted until it leaves it.
type Holder struct {
	Worker string // or empty
	Number int64  // of the batch, or of the slot since; 0: never touched
	Until  time.Time
	Lease  time.Duration // 0: ZooKeeper judges the worker
	Paused time.Time     // since when the slot is; zero: it is not; 1970: who paused it did not say
}

// Counts is what one slot holds.
type Counts struct {
	Holder
	Now       time.Time // of the server
	Stored    int       // in the store
	Failed    int       // of these: failed ones, which a literal topic keeps there
	Due       int       // of those in the store; in a priority topic, all
	Next      int64     // score of the first delivery that is next; 0: none
	InFlight  int
	Taken     time.Time // to the second: when the batch in flight was
	Attempt   int       // of the batch in flight
	Retrying  int       // waiting for their retry
	RetryDue  int       // of these due
	NextRetry time.Time
	Dead      int
	Died      [2]time.Time // the first and the last death
}

// Count counts one slot.
func (s *Scripts) Count(ctx context.Context, k SlotKeys, priority bool) (Counts, error) {
	cmd := s.CountCmd(ctx, k, priority)
	s.Exec(ctx, cmd)
	return CountAnswer(k, cmd)
}

// CountCmd is the command of Count, to be sent with others by [Scripts.Exec].
func (s *Scripts) CountCmd(ctx context.Context, k SlotKeys, priority bool) *redis.StringSliceCmd {
	return redis.NewStringSliceCmd(ctx, append(s.slot.begin(6, 5), k.Store, k.Prepare, k.Retry, k.Dead, k.Meta, kindOf(priority))...)
}

// CountAnswer reads its answer.
func CountAnswer(k SlotKeys, cmd *redis.StringSliceCmd) (c Counts, err error) {
	r, err := cmd.Result()
	if err != nil {
		return c, fmt.Errorf("count slot %s: %w", k.Store, k.wrongType(slotSource, err))
	}
	n := numbers(r)
	c = Counts{
		Now: ms(n[0]), Stored: int(n[1]), Failed: int(n[2]), Due: int(n[3]), Next: stored(r[4]), InFlight: int(n[5]),
		Retrying: int(n[7]), RetryDue: int(n[8]), NextRetry: ms(n[9] / 100), Dead: int(n[10]), Died: [2]time.Time{ms(n[11]), ms(n[12])},
		Holder: holder(r[13:]),
	}
	c.Taken, c.Attempt = mark(r[6])
	return c, nil
}

// Found is where one content is. It may be in several places: a new copy waits
// while an older one is in flight, waits for its retry, or is dead.
type Found struct {
	Holder
	Now      time.Time // of the server
	Stored   int64     // its score in the store, at least 1, which is a last delivery; 0: not there
	Before   int       // how many of the store go before it for certain
	Beside   int       // in a priority topic: how many others of the store have its priority
	InFlight bool
	Retry    time.Time // when its retry is due; zero: none waits
	Left     int       // retries left, of the copy in flight or before its retry
	Died     time.Time // zero: not dead
	Why      *Why      // nil: nothing is known
	Batch    int       // how many contents of the slot are in flight
	Taken    time.Time // to the second: when they were
	Attempt  int       // of them
}

// Nowhere reports whether the content is in none of the places.
func (f *Found) Nowhere() bool {
	return f.Stored == 0 && !f.InFlight && f.Retry.IsZero() && f.Died.IsZero()
}

// Find looks for a content in one slot.
func (s *Scripts) Find(ctx context.Context, k SlotKeys, priority bool, content string) (Found, error) {
	cmd := s.FindCmd(ctx, k, priority, content)
	s.Exec(ctx, cmd)
	return FindAnswer(k, cmd)
}

// FindCmd is the command of Find, to be sent with others by [Scripts.Exec].
func (s *Scripts) FindCmd(ctx context.Context, k SlotKeys, priority bool, content string) *redis.StringSliceCmd {
	args := append(s.find.begin(8, 6), k.Store, k.Prepare, k.Retry, k.Dead, k.Meta, k.Why, kindOf(priority), content)
	return redis.NewStringSliceCmd(ctx, args...)
}

// FindAnswer reads its answer.
func FindAnswer(k SlotKeys, cmd *redis.StringSliceCmd) (f Found, err error) {
	r, err := cmd.Result()
	if err != nil {
		return f, fmt.Errorf("look for a content in slot %s: %w", k.Store, k.wrongType(findSource, err))
	}
	n := numbers(r)
	f = Found{
		Now: ms(n[0]), Stored: stored(r[1]), InFlight: r[2] != "",
		Before: int(n[6]), Beside: int(n[7]), Batch: int(n[8]), Holder: holder(r[10:]),
	}
	if why, ok := ParseWhy(r[5]); ok {
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
		f.Left = left(n[2], 1000, 0, retriesLeft)
	case r[3] != "":
		f.Left = left(n[3], 100, 1, retriesLeft+1)
	case f.Stored > 0 && f.Stored <= retriesLeft: // a failed one of a literal topic
		f.Left = int(f.Stored)
	}
	f.Taken, f.Attempt = mark(r[9])
	return f, nil
}

func kindOf(priority bool) string {
	if priority {
		return "P"
	}
	return "T"
}

// numbers reads those that are numbers; others are 0.
func numbers(texts []string) []int64 {
	n := make([]int64, len(texts))
	for i, text := range texts {
		n[i] = score(text)
	}
	return n
}

// score reads a score as Redis tells it. Anybody may have written it: it is the
// nearest whole number, downwards, that a score holds exactly.
func score(text string) int64 {
	f, _ := strconv.ParseFloat(text, 64)
	return int64(math.Floor(max(-maxScore, min(maxScore, f))))
}

// stored reads a score in the store for what the scripts take it for: up to 16 it is
// retries left, at least 1, and above that a first delivery.
func stored(text string) int64 {
	n := score(text)
	f, _ := strconv.ParseFloat(text, 64)
	switch {
	case text == "":
		return 0
	case f > retriesLeft:
		return max(firstDelivery, n)
	}
	return max(1, n)
}

// left is what the last digits of a score say of retries left, whatever somebody
// wrote there.
func left(score, unit, least, most int64) int {
	return int(min(max(score%unit, least), most))
}

// ms is a time, zero for none.
func ms(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n)
}

// mark takes the mark of a content in prepare apart.
func mark(text string) (taken time.Time, attempt int) {
	if text == "" {
		return time.Time{}, 0
	}
	n := score(text)
	return time.Unix(n/1000, 0), 17 - left(n, 1000, 0, retriesLeft)
}

// holder reads holder, number, until, lease and paused.
func holder(r []string) Holder {
	n := numbers(r)
	return Holder{Worker: r[0], Number: n[1], Until: ms(n[2]), Lease: time.Duration(n[3]) * time.Millisecond, Paused: since(r[4])}
}

// since is when a slot was paused. A person may have paused it by any text.
func since(text string) time.Time {
	n := score(text)
	switch {
	case text == "":
		return time.Time{}
	case n < minTime:
		n = 0
	}
	return time.UnixMilli(n)
}
