package protocol_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/testing/night"
)

// Every rule of byhand.Rules is broken by hand, in each of the ways in
// which it can be, and has to be found by its name, where it is broken. Nothing
// else may be found.

func TestInvariants(t *testing.T) { onEachServer(t, invariantTrials) }

var invariantTrials = []trial{
	{name: "invariants: each damage is found", run: eachIsFound},
	{name: "invariants: nothing is found", run: nothingIsFound},
}

func eachIsFound(w *world) {
	broken := map[string]bool{}
	for i, d := range handMade {
		for _, k := range kinds {
			if d.only != "" && !contains(d.only, k.String()) {
				continue
			}
			if d.only == "" && !night.Is() && kinds[i%len(kinds)] != k { // by day each of them in one kind
				continue
			}
			w.aSlot(k)
			w.finds(k, false, "sound")
			for _, command := range d.commands(w.k, w.now) {
				w.do(command...)
			}
			var want []byhand.Violation
			for _, x := range strings.Split(d.content, " ") {
				want = append(want, byhand.Violation{Rule: d.rule, Key: d.key(w.k), Content: x})
			}
			w.finds(k, d.literal, d.rule+", "+d.what, want...)
			broken[d.rule] = true
		}
	}
	for _, rule := range byhand.Rules {
		w.must(broken[rule.Name], "nothing breaks %s: %s", rule.Name, rule.Rule)
		delete(broken, rule.Name)
	}
	w.must(len(broken) == 0, "not among the rules: %v", slices.Collect(maps.Keys(broken)))
}

// aSlot fills a slot: "waits" waits, "due" and "also" are in flight, "failed" waits
// for its retry, "dead" is dead, and "both" is dead and waits as well.
func (w *world) aSlot(k kind) {
	w.Helper()
	w.clean(k)
	w.lease = 30 * time.Second
	w.put("both", "dead", "failed")
	a := w.took(w.as("a", 0), "both", "dead", "failed")
	number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, bury("both"), bury("dead"), fail("failed", time.Hour))))
	w.put("due", "also")
	w.took(w.as("a", number), "due", "also")
	w.put("both", "waits")
	w.later(100)
}

// finds audits all parts of the slot, and compares what is found.
func (w *world) finds(k kind, literal bool, what string, want ...byhand.Violation) {
	w.Helper()
	found := map[byhand.Violation]string{} // by itself without the detail
	for _, part := range auditedParts {
		a, err := w.s.Audit(ctx, w.k, part, "0", 400)
		w.must(err == nil, "%v, %s: %v", k, what, err)
		a.Priority, a.Literal = k == priorityKind, literal
		for _, b := range a.Violations() {
			detail := b.Detail
			b.Detail = ""
			found[b] = detail
		}
	}
	w.must(len(found) == len(want), "%v, %s: found %q, not %q", k, what, found, want)
	for _, b := range want {
		w.must(found[b] != "", "%v, %s: found %q, not %q", k, what, found, b)
	}
}

// handDamage is what a person, or another program, may do to a slot.
type handDamage struct {
	rule, what string
	only       string // kinds; empty: all
	literal    bool
	key        func(k protocol.SlotKeys) string
	content    string // or several, separated by spaces
	commands   func(k protocol.SlotKeys, now int64) [][]any
}

// Where a damage shows.
var (
	inStore   = func(k protocol.SlotKeys) string { return k.Store }
	inPrepare = func(k protocol.SlotKeys) string { return k.Prepare }
	inRetry   = func(k protocol.SlotKeys) string { return k.Retry }
	inDead    = func(k protocol.SlotKeys) string { return k.Dead }
	inMeta    = func(k protocol.SlotKeys) string { return k.Meta }
	inWhy     = func(k protocol.SlotKeys) string { return k.Why }
)

// handMade is made of rows that put one score, one field, or one type in the place
// of what was there, and of some that need more.
var handMade = func() (all []handDamage) {
	add := func(rule, what string, key func(k protocol.SlotKeys) string, content string, commands func(k protocol.SlotKeys, now int64) [][]any) *handDamage {
		all = append(all, handDamage{rule: rule, what: what, key: key, content: content, commands: commands})
		return &all[len(all)-1]
	}
	for name, key := range map[string]func(k protocol.SlotKeys) string{"store": inStore, "prepare": inPrepare, "retry": inRetry, "dead": inDead, "meta": inMeta, "why": inWhy} {
		for _, command := range []string{"set", "zadd", "hset"} {
			if command == map[bool]string{true: "hset", false: "zadd"}[name == "meta" || name == "why"] {
				continue // is what belongs there
			}
			add("TYPES", command+" "+name, key, "", func(k protocol.SlotKeys, _ int64) [][]any {
				return [][]any{{"del", key(k)}, map[string][]any{"set": {"set", key(k), "x"}, "zadd": {"zadd", key(k), 1, "x"}, "hset": {"hset", key(k), "x", "1"}}[command]}
			})
		}
	}

	score := func(rule string, key func(k protocol.SlotKeys) string, content string, to any) *handDamage {
		return add(rule, fmt.Sprint("score ", to), key, content, func(k protocol.SlotKeys, _ int64) [][]any {
			return [][]any{{"zadd", key(k), to, content}}
		})
	}
	for _, to := range []any{0, -5, "17.5", "-inf", "inf", 1e18} {
		score("STORE", inStore, "waits", to)
	}
	score("STORE", inStore, "waits", 0).literal = true
	for _, to := range []any{1, 16} {
		score("STORE", inStore, "waits", to).what += ", and the topic is not literal"
	}
	score("STORE", inStore, "waits", 1<<53).only = "priority"
	for _, to := range []any{17, 1_700_000_000, 99_999_999_999, 253402300800001} { // seconds, and µs, say
		score("STORE", inStore, "waits", to).only = "range-merge fixed-time"
	}
	for _, to := range []any{"170000000000016.5", "170000000000000", "170000000000019", "170000000000099", "1700000000016", "-170000000000016", "9999999999999", 9007199254740992 + 16} {
		score("RETRY", inRetry, "failed", to)
	}
	for _, to := range []any{"1700000000000.5", 1_700_000_000, 99_999_999_999, 253402300800001, -1700000000000} {
		score("DEAD", inDead, "dead", to)
	}

	field := func(name string, to any) {
		add("META", fmt.Sprint(name, " ", to), inMeta, "", func(k protocol.SlotKeys, _ int64) [][]any {
			return [][]any{{"hset", k.Meta, name, to}}
		})
	}
	for _, to := range []any{"x", "1.5", "-1", "9007199254740992"} {
		field("batch", to)
		field("until", to)
		field("lease", to)
	}
	field("lease", "1000000000001")

	for _, name := range []string{"holder", "batch"} {
		add("HELD", "no "+name, inPrepare, "", func(k protocol.SlotKeys, _ int64) [][]any { return [][]any{{"hdel", k.Meta, name}} })
	}
	add("HELD", "no meta", inPrepare, "", func(k protocol.SlotKeys, _ int64) [][]any {
		return [][]any{{"rename", k.Meta, "away{world_3}"}, {"hset", k.Meta, "why", 1}}
	})

	only := func(k protocol.SlotKeys, mark any) [][]any { // one content is in flight
		return [][]any{{"del", k.Prepare}, {"zadd", k.Prepare, mark, "due"}}
	}
	for _, mark := range []any{"1700000000017", "1700000000999", "1700000000016.5", "1700000016", "253402300801000", -1700000000016} {
		add("MARK", fmt.Sprint("mark ", mark), inPrepare, "due", func(k protocol.SlotKeys, _ int64) [][]any { return only(k, mark) })
	}
	add("BATCH", "two moments", inPrepare, "due", func(k protocol.SlotKeys, now int64) [][]any {
		return [][]any{{"zadd", k.Prepare, now/1000*1000 + 1016, "due"}} // "also" comes first then
	})
	add("BATCH", "two retries", inPrepare, "also due", func(k protocol.SlotKeys, now int64) [][]any {
		return append(only(k, now/1000*1000+15), []any{"zadd", k.Prepare, now/1000*1000 + 15, "also"})
	})
	add("BATCH", "257 contents", inPrepare, "", func(k protocol.SlotKeys, now int64) [][]any {
		command := []any{"zadd", k.Prepare}
		for i := range 255 {
			command = append(command, now/1000*1000+16, i)
		}
		return [][]any{command}
	})
	add("ONCE", "both", inRetry, "due", func(k protocol.SlotKeys, now int64) [][]any {
		return [][]any{{"zadd", k.Retry, now*100 + 17, "due"}}
	})
	score("RETRY", inRetry, "failed", "170000000000018").only = "range-merge fixed-time"
	score("BACK", inRetry, "failed", "170000000000018").only = "priority" // its record is that of a failure
	for _, record := range []string{"", "0 1 2 - a reason", "0 1 2 16 a reason"} {
		add("BACK", "record "+record, inRetry, "failed", func(k protocol.SlotKeys, now int64) [][]any {
			if record == "" {
				return [][]any{{"zadd", k.Retry, now*100 + putBack, "failed"}, {"hdel", k.Why, "failed"}}
			}
			return [][]any{{"zadd", k.Retry, now*100 + putBack, "failed"}, {"hset", k.Why, "failed", record}}
		}).only = "priority"
	}
	const back = "0 1 2 50 a reason"
	add("DEATH", "a record of no failure", inDead, "dead", func(k protocol.SlotKeys, _ int64) [][]any { return [][]any{{"hset", k.Why, "dead", back}} })
	add("FAILED", "a record of no failure", inRetry, "failed", func(k protocol.SlotKeys, _ int64) [][]any { return [][]any{{"hset", k.Why, "failed", back}} })
	add("DEATH", "no record", inDead, "dead", func(k protocol.SlotKeys, _ int64) [][]any { return [][]any{{"hdel", k.Why, "dead"}} })
	add("FAILED", "no record", inRetry, "failed", func(k protocol.SlotKeys, _ int64) [][]any { return [][]any{{"hdel", k.Why, "failed"}} })
	add("FAILED", "no record, in the store", inStore, "waits", func(k protocol.SlotKeys, _ int64) [][]any {
		return [][]any{{"zadd", k.Store, 16, "waits"}}
	}).literal = true
	for _, record := range []string{"x", "1 2 3 - w", "x 2 3 - w it failed", "1 x 3 - w it failed", "1 2 x - w it failed", "1 2 3 x w it failed"} {
		add("WHY", record, inWhy, "dead", func(k protocol.SlotKeys, _ int64) [][]any { return [][]any{{"hset", k.Why, "dead", record}} })
	}
	add("ORPHAN", "a retry is gone", inWhy, "failed", func(k protocol.SlotKeys, _ int64) [][]any { return [][]any{{"zrem", k.Retry, "failed"}} })
	add("ORPHAN", "a retry and the flag are gone", inWhy, "failed", func(k protocol.SlotKeys, _ int64) [][]any {
		return [][]any{{"zrem", k.Retry, "failed"}, {"hdel", k.Meta, "why"}}
	})
	add("ORPHAN", "a dead one is gone", inWhy, "dead", func(k protocol.SlotKeys, _ int64) [][]any { return [][]any{{"zrem", k.Dead, "dead"}} })
	noFlag := func(k protocol.SlotKeys) []any { return []any{"hdel", k.Meta, "why"} }
	add("FLAG", "a retry", inMeta, "failed", func(k protocol.SlotKeys, _ int64) [][]any { return [][]any{noFlag(k)} })
	for _, x := range []string{"waits", "due"} {
		add("FLAG", x, inMeta, x, func(k protocol.SlotKeys, _ int64) [][]any {
			return [][]any{noFlag(k), {"del", k.Retry}, {"hdel", k.Why, "failed"}, {"hset", k.Why, x, "1 2 3 - w it failed"}}
		})
	}
	return all
}()

// A retry of a literal topic waits in the store, and 256 contents may be in flight.
func nothingIsFound(w *world) {
	for _, k := range kinds {
		w.clean(k)
		w.finds(k, false, "an empty slot")
		w.put("m")
		a := w.took(w.as("a", 0), "m")
		w.finds(k, false, "no lease")
		for n := range 16 {
			number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", 0))))
			w.finds(k, true, fmt.Sprint(n, " failures"))
			a = w.took(w.as("a", number), "m")
			w.finds(k, true, fmt.Sprint(n, " failures, in flight"))
		}
		w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", 0))))
		w.finds(k, true, "dead")

		w.clean(k)
		for i := range 300 {
			w.put(fmt.Sprint("m", i))
		}
		w.turn(asking(maxBatch, w.as("a", 0)), protocol.Batch)
		w.do("hset", w.k.Meta, "paused", "by a person")
		w.finds(k, false, "a whole batch")
	}
}

// docs/PROTOCOL.md tells the rules in the same words.
func TestInvariantsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/PROTOCOL.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range byhand.Rules {
		if row := "| `" + rule.Name + "` | " + rule.Rule + " |"; !strings.Contains(string(text), row) {
			t.Errorf("docs/PROTOCOL.md does not have the row\n%s", row)
		}
	}
}
