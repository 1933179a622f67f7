package byhand

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/protocol/score"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/luascripts"
)

var slotScript = script.New(luascripts.Source("byhand/slot.lua"))

// Holder is the worker that has the batch in flight, as meta knows it. In [Counts] and
// [Found] that batch may be over: the holder stays noted until it leaves the slot.
type Holder struct {
	Worker string // or empty
	Fence  int64  // of the batch, or of the slot since; 0: never touched
	Until  time.Time
	Lease  time.Duration // 0: ZooKeeper judges the worker
	Paused time.Time     // since when the slot is paused; zero: it is not; 1970: it is not known since when
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

// CountCmd counts one slot.
func CountCmd(ctx context.Context, k protocol.SlotKeys, priority bool) *redis.StringSliceCmd {
	return redis.NewStringSliceCmd(ctx, append(slotScript.Call(5, 6), k.Store, k.Prepare, k.Retry, k.Dead, k.Meta, kindOf(priority))...)
}

// CountAnswer reads the answer to a command of [CountCmd].
func CountAnswer(k protocol.SlotKeys, cmd *redis.StringSliceCmd) (c Counts, err error) {
	r, err := cmd.Val(), script.Err(cmd)
	if err != nil {
		return c, fmt.Errorf("count slot %s: %w", k.Store, err)
	}
	n := numbers(r)
	c = Counts{
		Now: score.Time(n[0]), Stored: int(n[1]), Failed: int(n[2]), Due: int(n[3]), Next: stored(r[4]), InFlight: int(n[5]),
		Retrying: int(n[7]), RetryDue: int(n[8]), NextRetry: score.Time(n[9] / 100),
		Dead: int(n[10]), Died: [2]time.Time{score.Time(n[11]), score.Time(n[12])},
		Holder: holder(r[13:]),
	}
	c.Taken, c.Attempt = mark(r[6])
	return c, nil
}

// kindOf is what the scripts call a topic with priorities, and one with times.
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
		n[i] = score.Parse(text)
	}
	return n
}

// stored reads a score in the store as the scripts do: up to 16 it is the number of retries
// left, at least 1, and above that a first delivery.
func stored(text string) int64 {
	n := score.Parse(text)
	f, _ := strconv.ParseFloat(text, 64)
	switch {
	case text == "":
		return 0
	case f > limits.Retries:
		return max(limits.MinPriority, n)
	}
	return max(1, n)
}

// left is how many retries are left by the last digits of a score, whatever those are.
func left(n, unit, least, most int64) int {
	return int(min(max(n%unit, least), most))
}

// mark takes the mark of a message in prepare apart.
func mark(text string) (taken time.Time, attempt int) {
	if text == "" {
		return time.Time{}, 0
	}
	n := score.Parse(text)
	return time.Unix(n/1000, 0), limits.Deliveries - left(n, 1000, 0, limits.Retries)
}

// holder reads holder, number, until, lease and paused.
func holder(r []string) Holder {
	n := numbers(r)
	return Holder{Worker: r[0], Fence: n[1], Until: score.Time(n[2]), Lease: time.Duration(n[3]) * time.Millisecond, Paused: since(r[4])}
}

// since is when a slot was paused. Any text in the field pauses it.
func since(text string) time.Time {
	n := score.Parse(text)
	switch {
	case text == "":
		return time.Time{}
	case n < limits.MinTime:
		n = 0
	}
	return time.UnixMilli(n)
}
