package protocol

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/luascripts"
)

var deathsScript = script.New(luascripts.Source("deaths.lua"))

// Death is a message that is dead.
type Death struct {
	Content string
	At      time.Time
	Failure Failure // of the delivery that killed it; zero if nothing is known
	UpTo    string  // what [Scripts.Deaths] notes when all deaths up to this one were reported
}

// Deaths are those of a slot that were not reported yet, the oldest first.
type Deaths struct {
	List []Death
	More time.Duration // after which there will be more; 0: none is known
}

// deathsBytes of contents end an answer of [Scripts.Deaths].
const deathsBytes = 1 << 20

// Deaths notes that all deaths up to one were reported, of which `reported` is UpTo, unless
// that is empty. It returns about `count` of the next ones: all of a millisecond come together.
// Where deaths may have come before that one meanwhile, it notes and returns nothing, and they
// are returned the next time.
func (s *Scripts) Deaths(ctx context.Context, k SlotKeys, reported string, count int) (Deaths, error) {
	cmd := redis.NewStringSliceCmd(ctx, append(deathsScript.Call(3, 6), k.Dead, k.Meta, k.Why, reported, count, deathsBytes)...)
	s.Exec(ctx, cmd)
	reply, err := cmd.Result()
	if err != nil {
		return Deaths{}, fmt.Errorf("read the deaths in %s: %w", k.Dead, err)
	}
	var d Deaths
	if ms, err := strconv.ParseInt(reply[0], 10, 64); err == nil {
		d.More = time.Duration(min(ms, 1_000_000)) * time.Millisecond // whatever the score, which another program may have written
	}
	for e := reply[2:]; len(e) >= 3; e = e[3:] {
		d.List = append(d.List, readDeath(e[0], e[1], e[2], reply[1]))
	}
	return d, nil
}

// readDeath reads one death. Its entry of why may be that of another copy, which has failed
// since.
func readDeath(content, score, why, mark string) Death {
	ms, _ := strconv.ParseFloat(score, 64)
	d := Death{Content: content, UpTo: score + " " + mark, At: time.UnixMilli(int64(ms))}
	if f, ok := ParseFailure(why); ok && f.Last.Equal(d.At) {
		d.Failure = f
	}
	return d
}
