package protocol_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// A script that fails in the middle keeps what it wrote. So whatever may fail
// must do so before the first write: a key of a wrong type, put there by
// somebody, costs an error and no message.

func TestWrongTypes(t *testing.T) { onEachServer(t, typeTrials) }

var typeTrials = []trial{
	{name: "wrong type: first take", run: func(w *world) { wrongTypes(w, "first take") }},
	{name: "wrong type: finish", run: func(w *world) { wrongTypes(w, "finish") }},
	{name: "wrong type: finish after a failure", run: func(w *world) { wrongTypes(w, "finish after a failure") }},
	{name: "wrong type: retry", run: func(w *world) { wrongTypes(w, "retry") }},
	{name: "wrong type: fail", run: func(w *world) { wrongTypes(w, "fail") }},
	{name: "wrong type: hand back", run: func(w *world) { wrongTypes(w, "hand back") }},
	{name: "wrong type: put back", run: func(w *world) { wrongTypes(w, "put back") }},
	{name: "wrong type: back in its place", run: func(w *world) { wrongTypes(w, "back in its place") }},
	{name: "wrong type: take-over", run: func(w *world) { wrongTypes(w, "take-over") }},
	{name: "rights: what is read", live: true, run: missingRights},
	{name: "wrong type: cancel", run: wrongTypeCancel},
	{name: "wrong type: others", run: wrongTypeOthers},
}

// spare is where a key is kept while something else is in its place.
const spare = "spare{world_3}"

func (w *world) breakKey(key string) {
	w.Helper()
	if n, _ := w.do("exists", key).(int64); n == 1 {
		w.do("rename", key, spare)
	}
	w.do("set", key, "of a wrong type")
}

func (w *world) repairKey(key string) {
	w.Helper()
	w.do("del", key)
	if n, _ := w.do("exists", spare).(int64); n == 1 {
		w.do("rename", spare, key)
	}
}

func (w *world) slotKeys() map[string]string {
	return map[string]string{
		"store": w.k.Store, "prepare": w.k.Prepare, "retry": w.k.Retry, "dead": w.k.Dead, "meta": w.k.Meta, "why": w.k.Why,
	}
}

// everywhere is the contents that are anywhere at all.
func (w *world) everywhere() map[string]bool {
	w.Helper()
	all := map[string]bool{}
	for _, key := range []string{w.k.Store, w.k.Prepare, w.k.Retry, w.k.Dead, spare} {
		if w.do("type", key) == "zset" {
			for _, x := range w.do("zrange", key, 0, -1).([]any) {
				all[fmt.Sprint(x)] = true
			}
		}
	}
	return all
}

// mayPass are the keys that a stage has no need to look at.
var mayPass = map[string]string{
	"first take":             "dead why",
	"finish":                 "dead why prepare", // an own batch that is done is deleted, whatever it is
	"finish after a failure": "",
	"retry":                  "dead",
	"back in its place":      "dead why", // which the time kinds do not ask
}

func wrongTypes(w *world, stage string) {
	for _, k := range kinds {
		for name, key := range w.slotKeys() {
			w.clean(k)
			w.lease = 2 * time.Second
			if stage == "finish after a failure" || stage == "retry" {
				w.put("m0")
				a := w.took(w.as("a", 0), "m0")
				w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m0", time.Hour))))
			}
			if stage == "back in its place" {
				w.put("m0")
				a := w.took(w.as("a", 0), "m0")
				w.tells(protocol.Left, leaving(w.as("a", a.Fence, later("m0", time.Hour, a.Priority(0)))))
			}
			if stage == "retry" || stage == "back in its place" {
				w.later(time.Hour.Milliseconds())
			} else {
				w.put("m1", "m2", "m3", "m4")
			}
			t := w.as("a", w.slot().number)
			done := map[string]bool{}
			if stage != "first take" && stage != "retry" && stage != "back in its place" {
				a := w.turn(asking(2, t), protocol.Batch)
				x, y := a.Contents[0], a.Contents[1]
				t.Fence = a.Fence
				switch stage {
				case "fail":
					t.Verdicts = []protocol.Verdict{fail(x, time.Second), bury(y)}
				case "hand back":
					t.Verdicts = []protocol.Verdict{giveBack(x, 50), giveBack(y, 0)}
				case "put back":
					t.Verdicts = []protocol.Verdict{later(x, time.Second, 50), later(y, time.Second, 0)}
				case "take-over":
					t = w.as("b", 0)
					w.later(9000)
				default:
					done[x], done[y] = true, true
				}
			}
			before := w.everywhere()
			w.breakKey(key)
			_, err := w.s.Turn(ctx, t)
			after := w.everywhere()
			maps.DeleteFunc(before, func(x string, _ bool) bool { return after[x] || done[x] })
			w.must(len(before) == 0, "%v, %s, wrong %s: lost %v", k, stage, name, before)
			passes, known := mayPass[stage]
			w.must(err != nil || known && contains(passes, name), "%v, %s, wrong %s: no error", k, stage, name)
			if err != nil && strings.Contains(err.Error(), "user_script") { // not in memory
				named, _, _ := strings.Cut(err.Error(), " is not of the type")
				w.must(slices.Contains(strings.Fields(named)[4:], key), "%v, %s, wrong %s: %v", k, stage, name, err)
			}
			w.repairKey(key)
			_, err = w.s.Turn(ctx, t)
			w.must(err == nil, "%v, %s, %s repaired: %v", k, stage, name, err)
		}
	}
}

// missingRights: a Redis user may lack a command that a turn reads a key with. That costs an error,
// and no message.
func missingRights(w *world) {
	for _, k := range kinds {
		for name, key := range w.slotKeys() {
			for _, command := range strings.Fields("hget hlen hmget zcard zcount zmscore zrange zrangebyscore zrevrange zscore") {
				w.clean(k)
				w.put("m0")
				number := w.took(w.as("a", 0), "m0").Fence
				number = w.tells(protocol.Left, leaving(w.as("a", number, fail("m0", time.Hour)))) // so that why is looked at
				w.put("m1", "m2", "m3", "m4", "m5")
				number = w.took(w.as("a", number), "m1", "m2", "m3", "m4", "m5").Fence
				t := w.as("a", number, fail("m1", time.Second), later("m2", time.Second, 50), giveBack("m3", 50), bury("m4"))
				before := w.everywhere()
				delete(before, "m5")
				without := w.turnWithout(command, key, t)
				after := w.everywhere()
				maps.DeleteFunc(before, func(x string, _ bool) bool { return after[x] })
				w.must(len(before) == 0, "%v, without %s on %s: lost %v; %v", k, command, name, before, without)
				_, err := w.s.Turn(ctx, t)
				w.must(err == nil, "%v, with %s on %s again: %v", k, command, name, err)
			}
		}
	}
}

// turnWithout takes a turn as a Redis user who may do everything but use one command on one key.
func (w *world) turnWithout(command, key string, t *protocol.Turn) error {
	w.Helper()
	o := *w.rdb.Options()
	o.Username, o.Password = "nearly", "secret"
	setUser := []any{"acl", "setuser", o.Username, "reset", "on", ">" + o.Password, "~*", "+eval", "+evalsha", "+get"}
	for _, other := range w.slotKeys() {
		if other == key {
			setUser = append(setUser, "(~"+key+" +@all -"+command+")")
		} else {
			setUser = append(setUser, "(~"+other+" +@all)")
		}
	}
	w.do(setUser...)
	rdb := redis.NewClient(&o)
	_, err := edited(rdb, func(name, _ string) string { return w.sources[name] }).Turn(ctx, t)
	_ = rdb.Close()
	w.do("acl", "deluser", o.Username)
	return err
}

func wrongTypeCancel(w *world) {
	keys := w.slotKeys()
	keys["note"], keys["seen"] = w.noteKey, w.seen
	for name, key := range keys {
		if name == "meta" {
			continue // a cancel does not look at it
		}
		w.clean(rangeMerge)
		w.put("m")
		a := w.took(w.as("a", 0), "m")
		w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", time.Hour))))
		w.sendAll(protocol.SendNote, false, 0, message{content: "m", score: w.now})
		before := w.everywhere()
		w.breakKey(key)
		_, _, err := w.s.Cancel(ctx, w.k, true, "m")
		w.must(err != nil, "wrong %s: no error", name)
		w.must(maps.Equal(before, w.everywhere()), "wrong %s: %v before, %v after", name, before, w.everywhere())
		w.repairKey(key)
		s := w.slot()
		w.must(s.store["m"] != 0 && s.retry["m"] != 0 && s.notes["m"] != "", "wrong %s: %+v", name, s)
		removed, _, err := w.s.Cancel(ctx, w.k, true, "m")
		w.must(removed && err == nil && len(w.slot().notes) == 0, "%s repaired: %v, %v", name, removed, err)
	}
}

func wrongTypeOthers(w *world) {
	w.clean(rangeMerge)
	w.breakKey(w.k.Meta)
	_, err := w.s.Touch(ctx, w.k, "a", 1)
	w.must(err != nil, "touch: no error")
	w.breakKey(w.k.Store)
	w.must(w.s.rdb.Do(ctx, append(w.s.AddArgs(w.k.Store, false, 0), 50, "new")...).Err() != nil, "send: no error")
	w.breakKey(protocol.DefinitionKey("world"))
	_, err = w.s.Define(ctx, "world", protocol.Definition{Kind: "priority", Slots: 1, Layout: 1})
	w.must(err != nil, "define: no error")
}
