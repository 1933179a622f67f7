package protocol_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
)

// Notes of messages that are over go, and no others do.

func TestForgetNotes(t *testing.T) { onEachServer(t, forgetNoteTrials) }

var forgetNoteTrials = []trial{
	{name: "forget: what is over", run: func(w *world) {
		live := w.someLive("done", "dies")
		w.must(w.forgets("waits", "failed", "flies", "retries", "done", "dies", "unknown") == 2, "not two")
		w.hasNotes(live...)
		w.must(w.forgets("done", "dies") == 0, "again")
		w.must(w.forgets() == 0, "none")
		w.hasNotes(live...)
	}},
	{name: "forget: a piece of all", run: func(w *world) {
		live := w.someLive("done", "dies")
		removed, cursor := w.sweeps(0)
		w.must(removed == 2 && cursor == 0, "%d removed, cursor %d", removed, cursor)
		w.hasNotes(live...)
	}},
	{name: "forget: many", run: func(w *world) {
		w.clean(fixedTime)
		var contents []string
		for i := range 700 {
			contents = append(contents, fmt.Sprint(i))
			w.do("hset", w.noteKey, i, "a note")
		}
		for _, i := range []int{0, 198, 201, 510, 699} {
			w.do("zadd", w.k.Store, w.now, i)
		}
		w.must(w.forgets(contents...) == 695, "not 695")
		w.hasNotes("0", "198", "201", "510", "699")
	}},
	{name: "forget: piece by piece", live: true, run: func(w *world) {
		w.clean(fixedTime)
		var live []string
		for i := range 2000 {
			w.do("hset", w.noteKey, i, "a note")
			if i%2 == 0 {
				live = append(live, fmt.Sprint(i))
				w.do("zadd", w.k.Store, w.now, i)
			}
		}
		calls, total, at := 0, 0, uint64(0)
		for {
			n, next := w.sweeps(at)
			w.must(n <= 130, "%d at once", n)
			calls, total, at = calls+1, total+n, next
			if next == 0 || calls > 20 {
				break
			}
		}
		w.must(total == 1000 && calls > 2 && calls <= 20, "%d removed in %d calls", total, calls)
		w.hasNotes(live...)
	}},
	{name: "forget: large contents", live: true, run: func(w *world) {
		w.clean(fixedTime)
		large := strings.Repeat("x", 1<<18)
		for i := range 60 {
			w.do("hset", w.noteKey, fmt.Sprint(i, large), "a note")
		}
		n, _ := w.sweeps(0)
		w.must(n > 0 && n < 30, "%d at once", n)
		w.do("del", w.noteKey)
		for i := range 60 {
			w.do("hset", w.noteKey, i, large)
		}
		n, _ = w.sweeps(0)
		w.must(n > 0 && n < 30, "%d with large notes at once", n)
	}},
	{name: "forget: few in a large table", live: true, run: func(w *world) {
		w.clean(fixedTime)
		await.True(w.t, "no save of an earlier trial", func() bool {
			return strings.Contains(w.rdb.Info(ctx, "persistence").Val(), "rdb_bgsave_in_progress:0")
		})
		fill := `for i = 1, 50000 do redis.call(ARGV[1], KEYS[1], i, ARGV[2]) end`
		w.must(w.rdb.Eval(ctx, fill, []string{w.noteKey}, "hset", "a note").Err() == redis.Nil, "fill")
		w.do("config", "set", "rdb-key-save-delay", 2000000)
		w.do("bgsave") // no table shrinks meanwhile
		w.must(w.rdb.Eval(ctx, strings.Replace(fill, "1,", "6,", 1), []string{w.noteKey}, "hdel", "").Err() == redis.Nil, "empty")
		w.do("config", "set", "rdb-key-save-delay", 0)
		w.do("config", "resetstat")
		total, cursor := w.sweeps(0)
		scans := w.rdb.InfoMap(ctx, "commandstats").Item("Commandstats", "cmdstat_hscan")
		n, err := strconv.Atoi(strings.TrimPrefix(strings.Split(scans, ",")[0], "calls="))
		w.must(err == nil && n <= 100, "one sweep: %s", scans)
		for more := 0; cursor != 0; total += more {
			more, cursor = w.sweeps(cursor)
		}
		w.must(total == 5, "%d removed", total)
	}},
	{name: "forget: a full server", live: true, run: func(w *world) {
		live := w.someLive("done")
		w.do("config", "set", "maxmemory", "1")
		n := w.forgets("done", "waits")
		w.do("config", "set", "maxmemory", "0")
		w.must(n == 1, "%d removed", n)
		w.hasNotes(live...)
	}},
	{name: "wrong type: forget", run: func(w *world) {
		for _, key := range []string{w.k.Store, w.k.Prepare, w.k.Retry, w.noteKey} {
			live := w.someLive("done")
			w.breakKey(key)
			for _, cmd := range []redis.Cmder{w.s.ForgetCmd(ctx, w.k, []string{"done"}), w.s.SweepCmd(ctx, w.k, 0)} {
				w.s.Exec(ctx, cmd)
				_, _, err := protocol.ForgetAnswer(cmd)
				w.must(err != nil && strings.Contains(err.Error(), "forget notes"), "%s: %v", key, err)
			}
			w.repairKey(key)
			w.hasNotes(append(live, "done")...)
		}
	}},
}

// someLive makes contents that live, and some that do not, with a note of each; one of these is
// dead. It returns those that live.
func (w *world) someLive(over ...string) []string {
	w.Helper()
	w.clean(fixedTime)
	w.do("zadd", w.k.Store, w.now, "waits", 3, "failed")
	w.do("zadd", w.k.Prepare, w.now/1000*1000+16, "flies")
	w.do("zadd", w.k.Retry, w.now*100+16, "retries")
	w.do("zadd", w.k.Dead, w.now, "dies")
	live := []string{"waits", "failed", "flies", "retries"}
	for _, x := range append(over, live...) {
		w.do("hset", w.noteKey, x, "a note")
	}
	return live
}

// hasNotes checks of which contents there are notes.
func (w *world) hasNotes(want ...string) {
	w.Helper()
	got := slices.Sorted(maps.Keys(w.rdb.HGetAll(ctx, w.noteKey).Val()))
	w.must(slices.Equal(got, slices.Sorted(slices.Values(want))), "notes of %.100q, not of %.100q", got, want)
}

func (w *world) forgets(contents ...string) int {
	w.Helper()
	cmd := w.s.ForgetCmd(ctx, w.k, contents)
	w.s.Exec(ctx, cmd)
	n, cursor, err := protocol.ForgetAnswer(cmd)
	w.must(err == nil && cursor == 0, "%v, cursor %d", err, cursor)
	return n
}

func (w *world) sweeps(at uint64) (removed int, cursor uint64) {
	w.Helper()
	cmd := w.s.SweepCmd(ctx, w.k, at)
	w.s.Exec(ctx, cmd)
	removed, cursor, err := protocol.ForgetAnswer(cmd)
	w.must(err == nil, "%v", err)
	return removed, cursor
}

var forgetDamages = []damage{
	{"what waits keeps its note", "forget: what is over", `waits[at] or flies[at]`, `flies[at]`},
	{"what is in flight does", "forget: what is over", `waits[at] or flies[at] or again[at]`, `waits[at] or again[at]`},
	{"what waits for its retry does", "forget: what is over", `or again[at])`, `)`},
	{"what is over goes", "forget: what is over", `if over[1] then removed`, `if false then removed`},
	{"says how many", "forget: what is over", `removed + call('HDEL', note, unpack(over))`, `removed + #over; call('HDEL', note, unpack(over))`},
	{"all that are named", "forget: many", `for i = 2, #ARGV do`, `for i = 2, 256 do`},
	{"200 at a time", "forget: many", `for from = 1, #names, 200 do`, `for from = 1, 200, 200 do`},
	{"each of them", "forget: many", `math.min(from + 199, #names)`, `math.min(from + 198, #names)`},
	{"by its own place", "forget: many", `local at = i - from + 1`, `local at = i`},
	{"none twice", "forget: a piece of all", `if i % 2 == 1 then`, `if i % 2 == 0 then`},
	{"goes on where asked for", "forget: piece by piece", `cursor = ARGV[1]`, `cursor = '0'`},
	{"says where to go on", "forget: piece by piece", `return {removed, cursor}`, `return {removed, '0'}`},
	{"a piece is about a hundred", "forget: piece by piece", ` or #names >= 100`, ``},
	{"and not a few", "forget: piece by piece", `#names >= 100`, `#names >= 10`},
	{"or half a MB", "forget: large contents", ` or bytes > 500000`, ``},
	{"nor long where there are few", "forget: few in a large table", ` or looks == 100`, ``},
	{"with the notes", "forget: large contents", `bytes = bytes + #some[2][i]`, `bytes = bytes + i % 2 * #some[2][i]`},
	{"a few at a time", "forget: large contents", `'COUNT', 10)`, `'COUNT', 100)`},
}

// forgetNotes has notes of messages that are over removed, in a run of the driver.
func (d *driver) forgetNotes() {
	var cmd redis.Cmder
	expected := d.state.clone()
	if d.IntN(3) == 0 {
		cmd = d.s.SweepCmd(ctx, d.k, 0)
		expected.forgetNotes(d.contents...)
	} else {
		some := d.contents[:d.IntN(len(d.contents)+1)]
		cmd = d.s.ForgetCmd(ctx, d.k, some)
		expected.forgetNotes(some...)
	}
	e := &effect{what: "notes of what is over are removed", before: d.state, after: d.step(cmd)}
	d.note("%s", e.what)
	removed, cursor, err := protocol.ForgetAnswer(cmd)
	need(err == nil && cursor == 0 && removed == len(e.before.notes)-len(expected.notes), "ERROR: a removal is answered", "%d, %d, %v", removed, cursor, err)
	expected.same(e.after)
	d.check(e)
	d.count["notes removed"] += removed
	d.count["notes of live copies kept"] += len(e.after.notes)
}

// forgetNotes expects what forget.lua does with some contents.
func (s *slot) forgetNotes(contents ...string) {
	for _, x := range contents {
		if _, alive := whereIs(s, x); !alive {
			delete(s.notes, x)
		}
	}
}
