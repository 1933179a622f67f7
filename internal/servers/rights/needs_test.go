package rights

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/luascripts"
)

var commandOnKey = regexp.MustCompile(`\bcall\('([A-Z]+)', (\w+)`)

// used collects which commands the scripts use on which keys.
func used(t *testing.T, into map[string]bool, scripts ...string) {
	t.Helper()
	for _, name := range scripts {
		source := luascripts.Source(name + ".lua")
		for _, m := range commandOnKey.FindAllStringSubmatch(source, -1) {
			on := m[2]
			if on == "key" {
				on = "definition"
			}
			into[strings.ToLower(m[1])+" "+on] = true
		}
	}
}

// What is asked for is what the scripts and the two packages around them use.
func TestNeedsAreWhatIsUsed(t *testing.T) {
	t.Parallel()
	topic := Topic{Name: "orders", Slots: 16}
	k := protocol.KeysOf("orders", 15)
	called := map[string]string{
		protocol.FirstKey("orders", 15): "first", protocol.NoteKey("orders", 15): "note", protocol.SeenKey("orders", 15): "seen",
		k.Store: "store", k.Prepare: "prepare", k.Retry: "retry", k.Dead: "dead", k.Meta: "meta", k.Why: "why",
		protocol.TopicsKey: "topics", protocol.DefinitionKey("orders"): "definition", protocol.WorkersKey("orders"): "workers",
		protocol.PolicyKey("orders"):  "policy",
		protocol.ProbingKey("orders"): "probing", protocol.RunningKey("orders"): "running", protocol.GoneKey("orders"): "gone",
		protocol.PlansKey("orders"): "plans", protocol.PlanKey("orders", 15): "plan", protocol.RuleKey("orders", 15): "rule",
	}
	for _, n := range []Need{{}, {Worker: true}, {Extends: true}, {Unique: true}, {Worker: true, Extends: true, Unique: true}} {
		for _, notes := range []bool{false, true} {
			topic.Notes = notes
			want := map[string]bool{"zadd store": true, "sismember topics": true, "sadd topics": true}
			used(t, want, "send", "define")
			maps.DeleteFunc(want, func(use string, _ bool) bool {
				_, key, _ := strings.Cut(use, " ")
				return (key == "first" || key == "prepare") && !n.Extends || key == "seen" && !n.Unique || (key == "note" || key == "meta") && !notes
			})
			if n.Worker {
				for _, look := range []string{"zcard store", "zcount store", "zcount retry", "zcard prepare", "exists store", "exists retry", "exists prepare", "exists dead", "hget meta",
					"hset probing", "hdel probing", "pexpire probing", "zadd running", "zrange running", "zrem running", "pexpire running"} {
					want[look] = true
				}
				used(t, want, "turn", "touch", "members", "deaths", "policy", "plan")
				want["smembers plans"] = true
				for _, not := range []string{"hset rule", "hdel rule"} { // by who sets plans
					delete(want, not)
				}
				if notes {
					used(t, want, "forget")
				} else {
					delete(want, "hget note")
					delete(want, "hdel note")
					delete(want, "hset note")
				}
			}
			got := map[string]bool{}
			for _, key := range n.keys([]Topic{topic}) {
				for _, command := range key.commands {
					got[command+" "+called[key.name]] = true
				}
			}
			if w, g := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)); !slices.Equal(w, g) {
				t.Errorf("%+v, notes %v: asked for\n%q\nused\n%q", n, notes, g, w)
			}
		}
	}
}

// And what a restore uses.
func TestNeedsOfARestore(t *testing.T) {
	t.Parallel()
	k := protocol.KeysOf("orders", 15)
	called := map[string]string{
		k.Store: "store", k.Prepare: "prepare", k.Retry: "retry", k.Dead: "dead", k.Meta: "meta", k.Why: "why", k.Note(): "note",
		protocol.TopicsKey: "topics", protocol.DefinitionKey("orders"): "definition",
	}
	for _, notes := range []bool{false, true} {
		want, got := map[string]bool{"sismember topics": true, "sadd topics": true}, map[string]bool{}
		used(t, want, "define", "byhand/restore")
		maps.DeleteFunc(want, func(use string, _ bool) bool { return strings.HasSuffix(use, " note") && !notes })
		for _, key := range (Need{Restores: true}).keys([]Topic{{Name: "orders", Slots: 16, Notes: notes}}) {
			for _, command := range key.commands {
				got[command+" "+called[key.name]] = true
			}
		}
		if w, g := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)); !slices.Equal(w, g) {
			t.Errorf("notes %v: asked for\n%q\nused\n%q", notes, g, w)
		}
	}
}

func TestPatternsFitOneName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"orders": "orders", "a*b?c[d]e\\f": `a\*b\?c\[d\]e\\f`, "to do": "to?do", "shop:orders": "shop:orders", "заказы": "заказы",
	} {
		if got := glob(name); got != want {
			t.Errorf("%s: %s, not %s", name, got, want)
		}
	}
	keys := Need{Worker: true}.keys([]Topic{{Name: "a*", Slots: 4}})
	if got := fmt.Sprint(keys[1].name, " ", keys[2].pattern); got != `a*_3 prepare{a\*_*}` {
		t.Error(got)
	}
}
