package audit

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
)

// sideKeys are the keys that a slot may have besides those of its turns and plans.
var sideKeys = []struct {
	key  func(topic string, slot int) string
	is   string // its type
	rule string // which says that its scores are times in ms; empty: it has no scores
}{
	// Entries stay here when their message is gone, and say nothing then. So no rule says to which
	// message an entry belongs.
	{protocol.FirstKey, "zset", "FIRST"},
	{protocol.SeenKey, "zset", "SEEN"},
	{protocol.NoteKey, "hash", ""},
}

// oddMost is how many entries of one such set are reported that are too early, and how many that are
// too late.
const oddMost = 10

// keys looks at the side keys of a slot: at their types, and at the times in them.
func (v *verification) keys(ctx context.Context, t ask.Topic, slot int) error {
	pipe := v.i.Redis.Pipeline()
	early := redis.ZRangeArgs{Start: "-inf", Stop: "(" + strconv.Itoa(limits.MinTime), ByScore: true, Count: oddMost}
	late := redis.ZRangeArgs{Start: "(" + strconv.Itoa(limits.MaxTime), Stop: "+inf", ByScore: true, Count: oddMost}
	types, odd := make([]*redis.StatusCmd, len(sideKeys)), make([][]*redis.ZSliceCmd, len(sideKeys))
	for n, b := range sideKeys {
		key := b.key(v.i.Qualified(t.Name), slot)
		types[n] = pipe.Type(ctx, key)
		if b.rule != "" {
			early.Key, late.Key = key, key
			odd[n] = []*redis.ZSliceCmd{pipe.ZRangeArgsWithScores(ctx, early), pipe.ZRangeArgsWithScores(ctx, late)}
		}
	}
	_, _ = pipe.Exec(ctx) // each has its error
	for n, b := range sideKeys {
		key := b.key(v.i.Qualified(t.Name), slot)
		if sound, err := v.isA(b.is, key, types[n], t, slot); err != nil {
			return err
		} else if !sound {
			continue
		}
		for _, some := range odd[n] {
			if err := some.Err(); err != nil {
				return ask.At(key, v.i.Explain(err))
			}
			for _, z := range some.Val() {
				content, _ := z.Member.(string)
				v.add(Violation{Topic: t.Name, Slot: slot, Rule: b.rule, Key: key, Content: content, Detail: "its score is " + strconv.FormatFloat(z.Score, 'f', -1, 64) + ", and no time in ms"})
			}
		}
	}
	return nil
}

// isA reports whether a key has its type, if it is there.
func (v *verification) isA(want, key string, asked *redis.StatusCmd, t ask.Topic, slot int) (bool, error) {
	is, err := asked.Result()
	if err != nil {
		return false, ask.At(key, v.i.Explain(err))
	}
	sound := is == "none" || is == want
	if !sound {
		v.add(Violation{Topic: t.Name, Slot: slot, Rule: "TYPES", Key: key, Detail: "is a " + is})
	}
	return sound, nil
}

// notes looks at the notes of a slot: rule NOTE. A note that is left over of a message that is gone
// is no violation: workers sweep it.
func (v *verification) notes(ctx context.Context, t ask.Topic, slot int) error {
	if !t.Notes {
		return nil
	}
	key := protocol.NoteKey(v.i.Qualified(t.Name), slot)
	all := v.i.Redis.HScan(ctx, key, 0, "", ask.NotesPage).Iterator()
	for all.Next(ctx) {
		content := all.Val()
		if !all.Next(ctx) {
			break
		}
		if n, ok := protocol.ParseNote(all.Val()); !ok || n.Sends < 1 {
			v.add(Violation{Topic: t.Name, Slot: slot, Rule: "NOTE", Key: key, Content: content, Detail: fmt.Sprintf("it is %.80q", all.Val())})
		}
	}
	if err := all.Err(); err != nil && !redis.HasErrorPrefix(err, "WRONGTYPE") { // else it was reported
		return ask.At(key, v.i.Explain(err))
	}
	return nil
}

// policyOdd says what is wrong with the stored rate, concurrency and until of a limit, or
// nothing. A worker reads what cannot be a limit as none.
func policyOdd(values []any) string {
	text := func(n int) string { s, _ := values[n].(string); return s }
	rate, concurrency, until := text(0), text(1), text(2)
	if rate+concurrency+until == "" { // there is none
		return ""
	}
	if r, err := strconv.ParseFloat(rate, 64); rate != "" && (err != nil || !limits.Rate(r)) {
		return fmt.Sprintf("has rate %.40q", rate)
	}
	if n, err := strconv.Atoi(concurrency); concurrency != "" && (err != nil || n < 1) {
		return fmt.Sprintf("has concurrency %.40q", concurrency)
	}
	if _, err := strconv.ParseInt(until, 10, 64); err != nil {
		return fmt.Sprintf("has until %.40q", until)
	}
	return ""
}
