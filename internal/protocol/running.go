package protocol

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Running is what a worker notes of a handler that has run for long: only people look at it.
type Running struct {
	Slot    int
	Worker  string
	Since   time.Time     // when the handler began, by the server's clock, in ms
	Timeout time.Duration // of the handler, in ms
	Fence   int64         // of the batch
	Count   int           // of messages that are handled now: several in one call, or at the same time
	Hashes  []string      // of their contents, of the first 16
	Content string        // of the first one, 200 bytes at most
}

// How much is noted of the messages.
const (
	mostHashes = 16
	mostShown  = 200
)

// NoteContents notes the messages.
func (r *Running) NoteContents(contents []string) {
	r.Count, r.Hashes, r.Content = len(contents), nil, ""
	for _, content := range contents[:min(len(contents), mostHashes)] {
		r.Hashes = append(r.Hashes, hashOfContent(content))
	}
	if len(contents) > 0 {
		r.Content = contents[0][:min(len(contents[0]), mostShown)]
	}
}

// Has reports whether a message is surely one of them.
func (r *Running) Has(content string) bool { return slices.Contains(r.Hashes, hashOfContent(content)) }

func hashOfContent(content string) string {
	hash := sha1.Sum([]byte(content))
	return hex.EncodeToString(hash[:])
}

// String is how it stands in Redis.
func (r *Running) String() string {
	return fmt.Sprintf("%d %s %d %d %d %d %s %s", r.Slot, r.Worker, r.Since.UnixMilli(), r.Timeout.Milliseconds(), r.Fence, r.Count, strings.Join(r.Hashes, ","), r.Content)
}

// ParseRunning reads that.
func ParseRunning(text string) (r Running, ok bool) {
	part := strings.SplitN(text, " ", 8)
	if len(part) != 8 {
		return r, false
	}
	var n [5]int64
	for i, at := range []int{0, 2, 3, 4, 5} {
		var err error
		if n[i], err = strconv.ParseInt(part[at], 10, 64); err != nil {
			return r, false
		}
	}
	return Running{
		Slot: int(n[0]), Worker: part[1], Since: time.UnixMilli(n[1]), Timeout: time.Duration(n[2]) * time.Millisecond,
		Fence: n[3], Count: int(n[4]), Hashes: strings.Split(part[6], ","), Content: part[7],
	}, true
}

// RunningFirst begins a note of what runs: it asks for the time of the server that has the notes of a topic, and for the notes that
// are the next ones to count no more. Both commands go to that server.
func RunningFirst(ctx context.Context, topic string) (*redis.TimeCmd, *redis.ZSliceCmd) {
	return redis.NewTimeCmd(ctx, "time"), redis.NewZSliceCmd(ctx, "zrange", RunningKey(topic), 0, 19, "withscores")
}

// NoteRunningCmds note what runs until some time, and take out notes, such as those that count no more. The key goes with the last one.
func NoteRunningCmds(ctx context.Context, topic string, runs, over []string, now time.Time, count time.Duration) (cmds []redis.Cmder) {
	key := RunningKey(topic)
	if len(over) > 0 {
		args := []any{"zrem", key}
		for _, text := range over {
			args = append(args, text)
		}
		cmds = append(cmds, redis.NewIntCmd(ctx, args...))
	}
	if len(runs) > 0 {
		args := []any{"zadd", key}
		for _, text := range runs {
			args = append(args, now.Add(count).UnixMilli(), text)
		}
		cmds = append(cmds, redis.NewIntCmd(ctx, args...), redis.NewBoolCmd(ctx, "pexpire", key, count.Milliseconds()))
	}
	return cmds
}
