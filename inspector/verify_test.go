package inspector

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/audit"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

// Each rule is broken by hand, alone, in slot 2 of a topic that is sound else, behind so
// many sound contents that the wrong one is on a later page. It is found with its key.
func TestVerifyFindsEachDamage(t *testing.T) {
	const x = "the wrong one " + binary
	const ms = 1767225600000
	type damage struct {
		rule    string
		key     func(k protocol.SlotKeys) string // where it shows
		content string
		do      func(rdb redis.UniversalClient, k protocol.SlotKeys) error
		literal bool
	}
	store := func(k protocol.SlotKeys) string { return k.Store }
	prepare := func(k protocol.SlotKeys) string { return k.Prepare }
	retry := func(k protocol.SlotKeys) string { return k.Retry }
	dead := func(k protocol.SlotKeys) string { return k.Dead }
	meta := func(k protocol.SlotKeys) string { return k.Meta }
	why := func(k protocol.SlotKeys) string { return k.Why }
	type wrong = func(redis.UniversalClient, protocol.SlotKeys) error
	add := func(key func(protocol.SlotKeys) string, score float64) wrong {
		return func(rdb redis.UniversalClient, k protocol.SlotKeys) error {
			return rdb.ZAdd(ctx, key(k), redis.Z{Member: x, Score: score}).Err()
		}
	}
	set := func(key func(protocol.SlotKeys) string, field, value string) wrong {
		return func(rdb redis.UniversalClient, k protocol.SlotKeys) error {
			return rdb.HSet(ctx, key(k), field, value).Err()
		}
	}
	all := func(do ...wrong) wrong {
		return func(rdb redis.UniversalClient, k protocol.SlotKeys) error {
			for _, do := range do {
				if err := do(rdb, k); err != nil {
					return err
				}
			}
			return nil
		}
	}
	drop := func(key func(protocol.SlotKeys) string, value bool) wrong {
		return func(rdb redis.UniversalClient, k protocol.SlotKeys) error {
			if rdb.Del(ctx, key(k)); value {
				return rdb.Set(ctx, key(k), "x", 0).Err()
			}
			return nil
		}
	}
	entry := whyOf(time.UnixMilli(ms), "500", "it broke")
	explained := set(why, x, entry)
	damages := []damage{
		{"TYPES", store, "", drop(store, true), false},
		{"TYPES", prepare, "", drop(prepare, true), false},
		{"TYPES", retry, "", drop(retry, true), false},
		{"TYPES", dead, "", drop(dead, true), false},
		{"TYPES", meta, "", drop(meta, true), false},
		{"TYPES", why, "", drop(why, true), false},
		{"STORE", store, x, all(add(store, 12), explained), false}, // retries left, in a topic that is not literal
		{"STORE", store, x, add(store, 500.5), true},
		{"STORE", store, x, add(store, 1<<53), false},
		{"STORE", store, x, add(store, -3), true},
		{"FAILED", store, x, add(store, 12), true},
		{"MARK", prepare, x, all(drop(prepare, false), add(prepare, ms+17)), false},
		{"MARK", prepare, x, all(drop(prepare, false), add(prepare, 16)), false},
		{"BATCH", prepare, x, add(prepare, ms+1000+16), false}, // of another second
		{"BATCH", prepare, x, all(drop(prepare, false), add(prepare, ms+15), func(rdb redis.UniversalClient, k protocol.SlotKeys) error {
			return rdb.ZAdd(ctx, k.Prepare, redis.Z{Member: "beside it", Score: ms + 15}).Err()
		}), false},
		{"BATCH", prepare, "", func(rdb redis.UniversalClient, k protocol.SlotKeys) error {
			for n := range 256 {
				if err := rdb.ZAdd(ctx, k.Prepare, redis.Z{Member: fmt.Sprint("one of many ", n), Score: ms + 16}).Err(); err != nil {
					return err
				}
			}
			return nil
		}, false},
		{"HELD", prepare, "", func(rdb redis.UniversalClient, k protocol.SlotKeys) error {
			return rdb.HDel(ctx, k.Meta, "holder").Err()
		}, false},
		{"HELD", prepare, "", func(rdb redis.UniversalClient, k protocol.SlotKeys) error {
			return rdb.HDel(ctx, k.Meta, "batch").Err()
		}, false},
		{"RETRY", retry, x, all(add(retry, ms*100+19), explained), false},
		{"BACK", retry, x, all(add(retry, ms*100+18), explained), false}, // explained by failures
		{"RETRY", retry, x, all(add(retry, ms*100), explained), false},
		{"RETRY", retry, x, all(add(retry, 12), explained), false},
		{"FAILED", retry, x, add(retry, ms*100+12), false},
		{"ONCE", retry, "in flight", func(rdb redis.UniversalClient, k protocol.SlotKeys) error {
			return rdb.ZAdd(ctx, k.Retry, redis.Z{Member: "in flight", Score: ms*100 + 17}).Err()
		}, false},
		{"DEAD", dead, x, all(add(dead, ms*1000), explained), false},
		{"DEAD", dead, x, all(add(dead, 16), explained), false},
		{"DEATH", dead, x, add(dead, ms), false},
		{"WHY", why, x, all(add(dead, ms), set(why, x, "no entry")), false},
		{"ORPHAN", why, x, explained, false},
		{"FLAG", meta, x, all(add(retry, ms*100+12), explained, func(rdb redis.UniversalClient, k protocol.SlotKeys) error {
			// Then that of every failed one that lives is found, so there shall be no other.
			return rdb.HDel(ctx, k.Meta, "why").Err()
		}), false},
		{"META", meta, "", set(meta, "batch", "7a"), false},
		{"META", meta, "", set(meta, "until", "-1"), false},
		{"META", meta, "", set(meta, "lease", "1.5"), false},
	}
	for _, rule := range byhand.Rules {
		if !slices.ContainsFunc(damages, func(d damage) bool { return d.rule == rule.Name }) {
			t.Errorf("no damage breaks %s", rule.Name)
		}
	}
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		for n, d := range damages {
			topic := define(t, rdb, message.Topic{
				Name: fmt.Sprintf("damage %d", n), Kind: message.KindPriority, Slots: 4, Literal: d.literal,
			})
			k := protocol.KeysOf(topic.Name, 2)
			sound(t, rdb, k, d.rule != "FLAG")
			must.Do(t, d.do(rdb, k))
			found, err := i.Verify(ctx, []string{topic.Name}, nil)
			is := func(f audit.Violation) bool { // several may be concerned, as two attempts in one batch
				return f.Topic == topic.Name && f.Slot == 2 && f.Rule == d.rule && f.Key == d.key(k) && f.Detail != ""
			}
			if err != nil || !slices.ContainsFunc(found, func(f audit.Violation) bool { return is(f) && f.Content == d.content }) {
				t.Errorf("damage %d, %s: found %+v, %v", n, d.rule, found, err)
			}
			for _, f := range found {
				if !is(f) && !(d.rule == "META" && f.Rule == "STANDS") { // a lease that is written there is over, too
					t.Errorf("damage %d, %s: found %+v, too", n, d.rule, f)
				}
			}
		}
		// All of them at once, each under its topic.
		found, err := i.Verify(ctx, nil, nil)
		must.Do(t, err)
		topics := map[string]int{}
		for _, f := range found {
			topics[f.Topic]++
		}
		if len(topics) != len(damages) {
			t.Errorf("damages in %d topics, want %d", len(topics), len(damages))
		}
	})
}

// sound fills a slot of a priority topic with what is sound: more than a page of each.
func sound(t testing.TB, rdb redis.UniversalClient, k protocol.SlotKeys, failed bool) {
	t.Helper()
	const n, ms = 307, 1767225600000
	pipe := rdb.Pipeline()
	for n := range n {
		pipe.ZAdd(ctx, k.Store, redis.Z{Member: fmt.Sprint("waits ", n), Score: float64(17 + n)})
		pipe.ZAdd(ctx, k.Dead, redis.Z{Member: fmt.Sprint("dead ", n), Score: float64(ms + n/10)})
		pipe.HSet(ctx, k.Why, fmt.Sprint("dead ", n), whyOf(time.UnixMilli(ms), "-", "it broke"))
		if failed {
			pipe.ZAdd(ctx, k.Retry, redis.Z{Member: fmt.Sprint("retries ", n), Score: float64((ms+n/10)*100 + 1 + n%16)})
			pipe.HSet(ctx, k.Why, fmt.Sprint("retries ", n), whyOf(time.UnixMilli(ms), "18", "it broke"))
		}
	}
	pipe.ZAdd(ctx, k.Retry, redis.Z{Member: "handed back", Score: ms*100 + 17})
	pipe.ZAdd(ctx, k.Prepare, redis.Z{Member: "in flight", Score: ms + 16})
	pipe.HSet(ctx, k.Meta, "holder", "w1", "batch", ms, "until", ms, "lease", 0, "why", 1)
	_, err := pipe.Exec(ctx)
	must.Do(t, err)
}

// What is wrong with a topic as a whole is found, and the rest of the topics is looked at
// all the same.
func TestVerifyDefinitions(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, _ *Inspector) {
		i := newInspector(t, rdb, Config{Namespace: "ns"})
		key := protocol.DefinitionKey
		sound := func(name string) string {
			return define(t, rdb, message.Topic{Name: "ns:" + name, Kind: message.KindFixedTime, Slots: 2}).Name
		}
		want := map[string]audit.Violation{}
		damage := func(name, rule, at, detail string, do ...error) {
			for _, err := range do {
				must.Do(t, err)
			}
			want[name] = audit.Violation{Topic: name, Slot: -1, Rule: rule, Key: at, Detail: detail}
		}
		missing, text, kind, none, odd, layout, literal, sharing, workers := sound("missing"), sound("text"), sound("kind"),
			sound("none"), sound("odd"), sound("layout"), sound("literal"), sound("sharing"), sound("workers")
		damage("missing", "DEFINITION", key(missing), "missing", rdb.Del(ctx, key(missing)).Err())
		damage("text", "DEFINITION", key(text), "not a hash", rdb.Del(ctx, key(text)).Err(), rdb.Set(ctx, key(text), "x", 0).Err())
		damage("kind", "DEFINITION", key(kind), `kind "fifo"`, rdb.HSet(ctx, key(kind), "kind", "fifo").Err())
		damage("none", "DEFINITION", key(none), `slots ""`, rdb.HDel(ctx, key(none), "slots").Err())
		damage("odd", "DEFINITION", key(odd), `slots "3"`, rdb.HSet(ctx, key(odd), "slots", 3).Err())
		damage("layout", "DEFINITION", key(layout), `layout "3"`, rdb.HSet(ctx, key(layout), "layout", 3).Err())
		damage("literal", "DEFINITION", key(literal), `literal "x"`, rdb.HSet(ctx, key(literal), "literal", "x").Err())
		damage("sharing", "DEFINITION", key(sharing), `sharing "etcd"`, rdb.HSet(ctx, key(sharing), "sharing", "etcd").Err())
		damage("workers", "TYPES", protocol.WorkersKey(workers), "list", rdb.LPush(ctx, protocol.WorkersKey(workers), "x").Err())
		sound("sound")
		define(t, rdb, message.Topic{Name: "another:kind", Kind: message.KindFixedTime})
		rdb.HSet(ctx, key("another:kind"), "kind", "fifo") // in another namespace
		sound("slot")
		put(t, rdb, protocol.StoreKey("ns:slot", 1), "x", 3)

		seen := map[string]int{}
		found, err := i.Verify(ctx, nil, func(topic string, slot, of int) {
			if of != 2 || slot != seen[topic] {
				t.Errorf("told slot %d of %d of topic %s", slot, of, topic)
			}
			seen[topic]++
		})
		must.Do(t, err)
		if !maps.Equal(seen, map[string]int{"sound": 2, "slot": 2, "workers": 2}) {
			t.Errorf("told of %v", seen)
		}
		want["slot"] = audit.Violation{Topic: "slot", Slot: 1, Rule: "STORE", Key: protocol.StoreKey("ns:slot", 1), Content: "x", Detail: "3"}
		for _, f := range found {
			w, expected := want[f.Topic]
			if !expected || !strings.Contains(f.Detail, w.Detail) {
				t.Errorf("found %+v", f)
			}
			if f.Detail = w.Detail; f != w {
				t.Errorf("found %+v, want %+v", f, w)
			}
			delete(want, f.Topic)
		}
		if len(want) > 0 {
			t.Errorf("not found: %v", want)
		}

		// Not listed; it is named, and otherwise nobody knows of it.
		must.Do(t, rdb.SRem(ctx, protocol.TopicsKey, "ns:sound").Err())
		found, err = i.Verify(ctx, []string{"sound"}, nil)
		if err != nil || len(found) != 1 || found[0].Rule != "LISTED" || found[0].Key != protocol.TopicsKey || found[0].Topic != "sound" {
			t.Errorf("found %+v, %v", found, err)
		}
		_, err = i.Verify(ctx, []string{"slot", "nosuch"}, nil)
		wantError(t, err, ErrUnknownTopic, "nosuch", "verify")

		rdb.Del(ctx, protocol.TopicsKey)
		must.Do(t, rdb.Set(ctx, protocol.TopicsKey, "x", 0).Err())
		for _, topics := range [][]string{nil, {"sound"}} {
			found, err = i.Verify(ctx, topics, nil)
			if err != nil || len(found) != 1 || found[0].Rule != "LISTED" || found[0].Key != protocol.TopicsKey || found[0].Topic != "" {
				t.Errorf("found %+v, %v", found, err)
			}
		}
	})
}

// Times kept beside a slot are found where they are none. Those that are left over are no error.
func TestVerifyBeside(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, _ *Inspector) {
		i := newInspector(t, rdb, Config{Namespace: "ns"})
		topic := define(t, rdb, message.Topic{Name: "ns:orders", Kind: message.KindRangeMerge, Slots: 2}).Name
		const early, late = float64(limits.MinTime), float64(limits.MaxTime)
		const most = 10 // of those that are too early, or too late
		for rule, key := range map[string]string{"FIRST": protocol.FirstKey(topic, 1), "SEEN": protocol.SeenKey(topic, 1)} {
			for score, wrong := range map[float64]bool{
				math.Inf(-1): true, 5: true, early - 1: true, early: false, late: false, late + 1: true, math.Inf(1): true,
			} {
				put(t, rdb, key, binary, score)
				found, err := i.Verify(ctx, nil, nil)
				must.Do(t, err)
				want := audit.Violation{Topic: "orders", Slot: 1, Rule: rule, Key: key, Content: binary}
				for n := range found {
					want.Detail = found[n].Detail
				}
				if wrong && !slices.Equal(found, []audit.Violation{want}) || !wrong && len(found) > 0 {
					t.Errorf("%s of %v: found %+v", key, score, found)
				}
			}
			must.Do(t, rdb.Del(ctx, key).Err())
			for n := range 2 * most {
				put(t, rdb, key, fmt.Sprint(n), float64(n))
			}
			if found, err := i.Verify(ctx, nil, nil); err != nil || len(found) != most {
				t.Errorf("%s: found %+v, %v", key, found, err)
			}
			must.Do(t, rdb.Del(ctx, key).Err())
		}
	})
}

// Verify knows each key that a topic may have, and its type.
func TestVerifyKnowsEachKey(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, topicOf(t, message.KindPriority, 2)).Name
		for _, key := range slices.Concat(protocol.OfSlot(topic, 1), protocol.OfTopic(topic)) {
			if key == protocol.DefinitionKey(topic) || key == protocol.TraceKey(topic, 1) { // see TestVerifyDefinitions; that of another module
				continue
			}
			must.Do(t, rdb.Set(ctx, key, "x", 0).Err())
			found, err := i.Verify(ctx, nil, nil)
			if err != nil || len(found) != 1 || found[0].Rule != "TYPES" || found[0].Key != key {
				t.Errorf("%s is a string: found %+v, %v", key, found, err)
			}
			must.Do(t, rdb.Del(ctx, key).Err())
		}
	})
}

// Nothing there is nothing wrong, and one that is broken off says so.
func TestVerifyEmpty(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		found, err := i.Verify(ctx, nil, nil)
		if err != nil || found != nil {
			t.Errorf("found %v, %v", found, err)
		}
		topic := define(t, rdb, topicOf(t, message.KindRangeMerge, 64))
		if found, err = i.Verify(ctx, nil, nil); err != nil || found != nil {
			t.Errorf("found %v, %v", found, err)
		}
		breaking, cancel := context.WithCancel(ctx)
		_, err = i.Verify(breaking, []string{topic.Name}, func(_ string, slot, _ int) {
			if slot == 10 {
				cancel()
			}
		})
		wantError(t, err, context.Canceled, "verify")
	})
}
