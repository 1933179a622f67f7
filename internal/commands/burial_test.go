package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

func init() {
	filled["send"] = []string{"--range", "10m"}
	filled["reschedule"] = []string{"--now"}
}

// deadOne is a dead message, as a worker leaves it.
type deadOne struct {
	content string
	died    time.Time
	why     string // as in why{T_N}; empty: nothing is known
}

// whyOf is an entry of why, of 17 attempts within six minutes.
func whyOf(died time.Time, priority, reason string) string {
	return fmt.Sprintf("17 %d %d %s app7-1 %s", died.Add(-6*time.Minute).UnixMilli(), died.UnixMilli(), priority, reason)
}

// bury makes a topic with n dead messages, each in the slot of its content.
func bury(t testing.TB, rdb redis.UniversalClient, topic message.Topic, n int, of func(i int) deadOne) {
	t.Helper()
	topic = definition.Full(topic)
	_, errs := protocol.New(rdb).Define(ctx, []string{topic.Name}, []protocol.Definition{{
		Kind: topic.Kind.String(), Slots: topic.Slots, Literal: topic.Literal, Layout: protocol.Layout,
	}})
	must.Do(t, errs[0])
	must.Do(t, rdb.SAdd(ctx, protocol.TopicsKey, topic.Name).Err())
	const some = 20_000
	for from := 0; from < n; from += some {
		dead, why := make([][]redis.Z, topic.Slots), make([][]any, topic.Slots)
		for i := from; i < min(n, from+some); i++ {
			c := of(i)
			slot := slots.Of(c.content, topic.Slots)
			dead[slot] = append(dead[slot], redis.Z{Score: float64(c.died.UnixMilli()), Member: c.content})
			if c.why != "" {
				why[slot] = append(why[slot], c.content, c.why)
			}
		}
		pipe := rdb.Pipeline()
		for slot := range topic.Slots {
			k := protocol.KeysOf(topic.Name, slot)
			if len(dead[slot]) > 0 {
				pipe.ZAdd(ctx, k.Dead, dead[slot]...)
			}
			if len(why[slot]) > 0 {
				pipe.HSet(ctx, k.Why, why[slot]...)
			}
		}
		_, err := pipe.Exec(ctx)
		must.Do(t, err)
	}
}

// members are all contents of one kind of key of a topic, and their scores. One that is in two
// slots fails the test.
func members(t testing.TB, rdb redis.UniversalClient, topic message.Topic, key func(protocol.SlotKeys) string) map[string]float64 {
	t.Helper()
	topic = definition.Full(topic)
	all := map[string]float64{}
	for slot := range topic.Slots {
		zs, err := rdb.ZRangeWithScores(ctx, key(protocol.KeysOf(topic.Name, slot)), 0, -1).Result()
		must.Do(t, err)
		for _, z := range zs {
			content := z.Member.(string)
			if _, twice := all[content]; twice {
				t.Errorf("%q is in two slots", content)
			}
			all[content] = z.Score
		}
	}
	return all
}

func inStore(k protocol.SlotKeys) string { return k.Store }
func inDead(k protocol.SlotKeys) string  { return k.Dead }

// answered is a call at which a person types something.
func (s at) answered(answer string, args ...string) result {
	var out, errs bytes.Buffer
	code := program.Run(ctx, append([]string{"--redis", s.url}, args...), strings.NewReader(answer), &out, &errs)
	return result{code, out.String(), errs.String()}
}

// refused checks for one line about what was wrong.
func (s at) refused(t testing.TB, code int, words string, args ...string) {
	t.Helper()
	r := s.answered("", args...)
	if r.code != code || !strings.Contains(r.errs, words) || strings.Count(r.errs, "\n") != 1 || !strings.HasPrefix(r.errs, "rmq: ") {
		t.Errorf("rmq %q: exit code %d, %q; want %d and %q", args, r.code, r.errs, code, words)
	}
}

// wantJSON compares an object, without the fields named.
func wantJSON(t testing.TB, got map[string]any, want string, without ...string) {
	t.Helper()
	for _, field := range without {
		if got[field] == nil {
			t.Errorf("%v has no %s", got, field)
		}
		delete(got, field)
	}
	text, err := json.Marshal(got)
	must.Do(t, err)
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}
