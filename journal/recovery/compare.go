package recovery

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/script"
)

// overdue is by how much a message must be late until it is looked for: ten times the usual Lag.
const overdue = time.Second

// owed goes through what is owed of a topic, and looks for it in Redis.
func (c *comparison) owed(ctx context.Context, t ledger.Topic) error {
	slots, err := c.journal.Slots(ctx, t)
	if err != nil {
		return err
	}
	for _, slot := range slots {
		at := place{t, slot}
		err := c.journal.Walk(ctx, t, slot, func(page []ledger.History) error {
			if err := c.pace.Wait(ctx, len(page)); err != nil {
				return err
			}
			var contents []string
			for _, h := range page {
				c.numbers[at] = max(c.numbers[at], lastBatch(h))
				if h.Verdict.What == ledger.Owed && (c.late(t, h) || c.doubtful(h)) {
					contents = append(contents, h.Verdict.Content)
				}
			}
			err := c.look(ctx, at, contents, func(_ int, _ *byhand.Audit, e *byhand.Entry) {
				if e.Store == "" && e.Prepare == "" && e.Retry == "" {
					c.suspect.add(at, e.Content)
				}
			})
			if err != nil {
				return err
			}
			return c.looked(ctx, len(page))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// raise makes the numbers of a topic's slots as large as the journal knows them, where Redis may have forgotten batches. A
// send would be given a number below theirs, and count as ended in them. What was sent so before is looked for behind this.
func (r *Recovery) raise(ctx context.Context, t ledger.Topic) error {
	numbers, err := r.journal.Numbers(ctx, t)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(slices.Collect(maps.Keys(numbers)), raisedAtOnce) {
		cmds := make([]redis.Cmder, len(some))
		for i, slot := range some {
			cmds[i] = byhand.RestoreCmd(ctx, place{t, slot}.keys(), t.Notes, numbers[slot], nil)
		}
		script.Exec(ctx, r.rdb, cmds...)
		for i, slot := range some {
			if _, err := byhand.Restored(place{t, slot}.keys(), cmds[i]); err != nil {
				return fmt.Errorf("raise the number of slot %d: %w", slot, err)
			}
		}
	}
	return nil
}

// raisedAtOnce is how many slots have their numbers raised in one round trip: a topic may have 65,536.
const raisedAtOnce = 128

// late reports whether a message that is owed should have been handled some time ago.
func (c *comparison) late(t ledger.Topic, h ledger.History) bool {
	due := int64(0)
	if t.Kind.Timed() {
		due = h.Verdict.Score
	}
	for _, s := range h.Sent {
		due = max(due, s.At)
	}
	return due+overdue.Milliseconds() < c.now
}

// doubtful reports whether Redis may have forgotten a message that is owed, and that could still be handled.
func (c *comparison) doubtful(h ledger.History) bool {
	f := c.done.Forgot
	return !f.Noticed.IsZero() && newest(h) > f.After && (h.Verdict.Expires == 0 || h.Verdict.Expires > c.now)
}

// newest is the ID of the newest send.
func newest(h ledger.History) (id int64) {
	for _, s := range h.Sent {
		id = max(id, s.ID)
	}
	return id
}

// waiting goes through what is in Redis of a topic, and looks for it in the journal. A scan finds
// what is in a key from its beginning to its end, however much comes and goes meanwhile.
func (c *comparison) waiting(ctx context.Context, t ledger.Topic) error {
	for slot := range t.Slots {
		at := place{t, slot}
		keys := at.keys()
		for _, key := range []string{keys.Store, keys.Retry, keys.Prepare, keys.Dead} {
			want := func(v ledger.Verdict) bool { return v.What == ledger.Owed }
			if key == keys.Dead {
				want = func(v ledger.Verdict) bool { return v.What == ledger.Dead && v.Content != "" }
			}
			if err := c.scan(ctx, at, key, want); err != nil {
				return err
			}
		}
	}
	return nil
}

// The first page of a scan is small, as it is not known how long the contents are.
const scanFirst = 16

func (c *comparison) scan(ctx context.Context, at place, key string, want func(ledger.Verdict) bool) error {
	cursor, count := uint64(0), int64(scanFirst)
	for {
		found, next, err := c.rdb.ZScan(ctx, key, cursor, "", count).Result()
		if err != nil {
			return fmt.Errorf("scan %s: %w", key, err)
		}
		contents, bytes := make([]string, 0, len(found)/2), 0
		for i := 0; i+1 < len(found); i += 2 {
			contents, bytes = append(contents, found[i]), bytes+len(found[i])
		}
		if err := c.unknown(ctx, at, contents, want); err != nil {
			return err
		}
		switch {
		case next == 0:
			return nil
		case bytes > lookBytes:
			count = max(1, count/2)
		case bytes < lookBytes/4:
			count = min(pageMost, 2*count)
		}
		cursor = next
	}
}

// unknown notes the contents that are not in the journal as they should be.
func (c *comparison) unknown(ctx context.Context, at place, contents []string, want func(ledger.Verdict) bool) error {
	for len(contents) > 0 {
		some := contents[:min(pageMost, len(contents))]
		contents = contents[len(some):]
		if err := c.pace.Wait(ctx, len(some)); err != nil {
			return err
		}
		known, err := c.journal.Look(ctx, at.topic, at.slot, some)
		if err != nil {
			return err
		}
		for i, h := range known {
			if !want(h.Verdict) {
				c.suspect.add(at, some[i])
			}
		}
		if err := c.looked(ctx, len(some)); err != nil {
			return err
		}
	}
	return nil
}

// looked counts a page that was looked at.
func (c *comparison) looked(ctx context.Context, n int) error {
	c.done.Looked += n
	if c.o.Progress != nil {
		c.o.Progress(c.done)
	}
	if c.suspect.full() {
		return c.settle(ctx)
	}
	return nil
}
