package protocol_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// What becomes of a send that meets an older copy of its content, of any kind,
// wherever the older one is. Whatever is stored has the full budget again.

func TestMergeRules(t *testing.T) { onEachServer(t, mergeTrials) }

var mergeTrials = []trial{
	{name: "merge rules", run: func(w *world) {
		for _, rule := range mergeRules {
			mergeRule(w, rule.kind, rule.literal, rule.state, rule.stored)
		}
	}},
	{name: "send in pairs", run: func(w *world) {
		for _, fields := range bothScripts {
			w.clean(rangeMerge)
			w.do("zadd", w.k.Store, 5000, "waits", 16, "failed", 1, "failed often", 17, "early")
			stored, refused := w.sends(fields, false, 0, 9000, "waits", 9001, "failed", 9002, "failed often", 9003, "early", 9004, "new", 1<<53-1, "late")
			w.must(stored == 4 && len(refused) == 0, "%d, %v", stored, refused)
			w.holds(map[string]int64{"waits": 5000, "failed": 9001, "failed often": 9002, "early": 17, "new": 9004, "late": 1<<53 - 1})
		}
	}},
	{name: "send: the last wins", run: func(w *world) {
		for _, fields := range bothScripts {
			w.clean(rangeMerge)
			w.do("zadd", w.k.Store, 50, "waits", 16, "failed")
			stored, refused := w.sends(fields, true, 9, 60, "waits", 61, "failed", 62, "new", 63, "new")
			w.must(stored == 1 && len(refused) == 0, "%d, %v", stored, refused)
			w.holds(map[string]int64{"waits": 60, "failed": 61, "new": 63})
		}
	}},
	{name: "send: full", run: func(w *world) {
		for _, fields := range bothScripts {
			for _, last := range []bool{false, true} {
				w.clean(rangeMerge)
				w.do("zadd", w.k.Store, 50, "waits", 16, "failed")
				stored, refused := w.sends(fields, last, 3, 59, "waits", 60, "a", 61, "b", 62, "waits", 63, "c", 64, "a", 65, "failed")
				w.must(stored == map[bool]int{false: 2, true: 1}[last] && slices.Equal(refused, []int{3, 5}), "%d, %v", stored, refused)
				want := map[string]int64{"waits": 50, "failed": 65, "a": 60}
				if last {
					want["waits"], want["a"] = 62, 64
				}
				w.holds(want)
				stored, refused = w.sends(fields, last, 2, 70, "d", 71, "a") // over the limit already
				w.must(stored == 0 && slices.Equal(refused, []int{1}), "%d, %v", stored, refused)
				stored, refused = w.sends(fields, last, 0, 70, "d", 71, "e")
				w.must(stored == 2 && len(refused) == 0, "%d, %v", stored, refused)
			}
		}
	}},
}

// bothScripts send what has only a score: add.lua, and send.lua where others in the call have more.
var bothScripts = []protocol.SendFields{0, protocol.SendUnique}

// sends calls one of them with pairs of score and content. It returns how many were stored, and the
// places of those refused.
func (w *world) sends(fields protocol.SendFields, last bool, most int, pairs ...any) (stored int, refused []int) {
	w.Helper()
	if fields == 0 {
		cmd := redis.NewIntSliceCmd(ctx, append(w.s.AddArgs(w.k.Store, last, most), pairs...)...)
		w.s.Exec(ctx, cmd)
		w.must(cmd.Err() == nil && len(cmd.Val()) > 0, "%v", cmd)
		for _, n := range cmd.Val()[1:] {
			refused = append(refused, int(n))
		}
		return int(cmd.Val()[0]), refused
	}
	args := w.s.SendArgs(w.k.Store, fields, last, most)
	for pair := range slices.Chunk(pairs, 2) {
		args = append(append(args, pair...), "")
	}
	cmd := redis.NewIntSliceCmd(ctx, args...)
	w.s.Exec(ctx, cmd)
	w.must(cmd.Err() == nil && len(cmd.Val()) == len(pairs), "%v", cmd)
	for i := 0; i < len(pairs); i += 2 {
		switch protocol.SendOutcome(cmd.Val()[i]) {
		case protocol.SendStored:
			stored++
		case protocol.SendRefused:
			refused = append(refused, i/2+1)
		}
	}
	return stored, refused
}

func (w *world) holds(want map[string]int64) {
	got := w.slot().store
	w.must(maps.Equal(got, want), "the store holds %v, want %v", got, want)
}

var mergeRules = []struct {
	kind    kind
	literal bool
	state   string // of the older copy
	stored  bool   // else the send merges into the older copy
}{
	{rangeMerge, false, "nowhere", true},
	{rangeMerge, false, "waiting", false},
	{rangeMerge, false, "overdue", false},
	{rangeMerge, false, "in flight", true},
	{rangeMerge, false, "retrying", true},
	{rangeMerge, false, "dead", true},
	{rangeMerge, true, "nowhere", true},
	{rangeMerge, true, "waiting", false},
	{rangeMerge, true, "overdue", false},
	{rangeMerge, true, "in flight", true},
	{rangeMerge, true, "retrying", true},
	{rangeMerge, true, "dead", true},
	{priorityKind, false, "nowhere", true},
	{priorityKind, false, "waiting", true},
	{priorityKind, false, "in flight", true},
	{priorityKind, false, "retrying", true},
	{priorityKind, false, "dead", true},
	{priorityKind, true, "retrying", true},
	{fixedTime, false, "nowhere", true},
	{fixedTime, false, "waiting", true},
	{fixedTime, false, "overdue", true},
	{fixedTime, false, "in flight", true},
	{fixedTime, false, "retrying", true},
	{fixedTime, false, "dead", true},
	{fixedTime, true, "retrying", true},
}

func mergeRule(w *world, k kind, literal bool, state string, stored bool) {
	w.clean(k)
	older, newer := w.now+500, w.now+9000
	if k == priorityKind {
		older, newer = 40, 70
	} else if state == "overdue" || state != "waiting" {
		older = w.now - 5
	}
	delay := time.Hour
	if literal {
		delay = 0
	}
	number := int64(0)
	if state != "nowhere" {
		w.do("zadd", w.k.Store, older, "m")
	}
	switch state {
	case "in flight":
		number = w.took(w.as("a", 0), "m").Fence
	case "retrying":
		a := w.took(w.as("a", 0), "m")
		number = w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", delay))))
	case "dead":
		a := w.took(w.as("a", 0), "m")
		number = w.tells(protocol.Left, leaving(w.as("a", a.Fence, bury("m"))))
	}

	where := k.String() + ", " + state
	told := int64(1)
	switch {
	case k == rangeMerge && literal:
		n, _ := w.sends(0, false, 0, newer, "m")
		told = int64(n)
	case k == rangeMerge:
		told = w.rdb.ZAddNX(ctx, w.k.Store, redis.Z{Score: float64(newer), Member: "m"}).Val()
	default:
		w.do("zadd", w.k.Store, newer, "m")
	}
	w.must(k != rangeMerge || (told == 1) == stored, "%s: %d stored", where, told)
	want := newer
	if !stored {
		want = older
	}
	s := w.slot()
	w.must(s.store["m"] == want, "%s: waits for %d, not %d", where, s.store["m"], want)

	if state == "in flight" {
		number = w.tells(protocol.Left, leaving(w.as("a", number, fail("m", delay))))
	}
	w.later(time.Minute.Milliseconds())
	a := w.took(w.as("a", number), "m")
	w.must(a.Attempt == 1 && (k != priorityKind || a.Priority(0) == 70), "%s: %+v", where, a)
	s = w.slot()
	w.must(len(s.store)+len(s.retry) == 0 && s.prepare["m"]%1000 == 16, "%s: a copy is left, or not the full budget: %+v", where, s)
	number = w.tells(protocol.Left, leaving(w.as("a", a.Fence)))
	w.later(time.Hour.Milliseconds())
	w.turn(w.as("a", number), protocol.Empty)
}

func TestCancel(t *testing.T) { onEachServer(t, cancelTrials) }

var cancelTrials = []trial{
	{name: "cancel: what waits", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			w.put("m", "n")
			w.cancels("x", false, false)
			w.cancels("m", true, false)
			w.cancels("m", false, false)
			w.took(w.as("a", 0), "n")
		}
	}},
	{name: "cancel: both copies", run: func(w *world) {
		w.clean(fixedTime)
		w.put("m")
		a := w.took(w.as("a", 0), "m")
		w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", time.Second))))
		w.put("m")
		w.cancels("m", true, false)
		s := w.slot()
		w.must(len(s.store)+len(s.retry)+len(s.why) == 0, "%+v", s)
	}},
	{name: "cancel: in flight", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			w.put("m")
			a := w.took(w.as("a", 0), "m")
			w.cancels("m", false, true)
			w.put("m")
			w.cancels("m", true, true)
			number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", time.Second))))
			w.later(1000)
			w.must(w.took(w.as("a", number), "m").Attempt == 2, "attempt")
		}
	}},
	{name: "cancel: the worker is asked", run: func(w *world) {
		w.clean(fixedTime)
		asked := func(number int64, want ...string) {
			w.Helper()
			_, c, err := w.s.Keep(ctx, w.k, "a", number, false)
			w.must(err == nil && len(c) == len(want), "%q, not %q: %v", c, want, err)
			for _, x := range want {
				w.must(c.Has(x), "%s is not asked for: %q", x, c)
			}
		}
		w.put("m", "n", "o")
		w.cancels("m", true, false)
		a := w.took(w.as("a", 0), "n", "o")
		w.cancels("m", false, false)
		asked(a.Fence)
		w.cancels("n", false, true)
		w.cancels("n", false, true)
		asked(a.Fence, "n")
		w.cancels("o", false, true)
		asked(a.Fence, "n", "o")
		b := w.tells(protocol.Left, leaving(w.as("a", a.Fence)))
		w.put("n", "p") // another send of the same content
		next := w.took(w.as("a", b), "n", "p")
		asked(next.Fence)
		w.cancels("p", false, true)
		asked(next.Fence, "p")
		w.do("del", w.k.Meta) // then nothing is known of the batch
		w.cancels("p", false, true)
		asked(next.Fence)
	}},
	{name: "cancel: the dead stay", run: func(w *world) {
		w.clean(rangeMerge)
		w.put("m")
		a := w.took(w.as("a", 0), "m")
		w.tells(protocol.Left, leaving(w.as("a", a.Fence, bury("m"))))
		w.cancels("m", false, false)
		s := w.slot()
		w.must(len(s.dead) == 1 && len(s.why) == 1, "%+v", s)
	}},
}

// cancels cancels a content and compares the answer.
func (w *world) cancels(x string, removed, inFlight bool) {
	w.Helper()
	gone, flying, err := w.s.Cancel(ctx, w.k, false, x)
	w.must(err == nil && gone == removed && flying == inFlight, "cancel of %s: removed %v, in flight %v, %v", x, gone, flying, err)
}

func TestContents(t *testing.T) { onEachServer(t, contentTrials) }

var contentTrials = []trial{{name: "contents of any bytes", run: func(w *world) {
	long := strings.Repeat("long", 64<<10) // 256 KiB
	contents := []string{"\x00", "a\x00b", "\xff\xfe not UTF-8 \xc3", long, long[1:] + "!", "{a}", "1", "-1", "nan", "content with spaces\r\n", "日本"}
	for _, k := range kinds {
		w.clean(k)
		w.put(contents...)
		a := w.took(asking(20, w.as("a", 0)), contents...)
		w.took(asking(20, w.as("a", 0)), contents...)
		var verdicts []protocol.Verdict
		for i, x := range contents {
			verdicts = append(verdicts, []protocol.Verdict{fail(x, time.Second), giveBack(x, 50), bury(x)}[i%3])
		}
		expected := w.slot()
		t := leaving(w.as("a", a.Fence, verdicts...))
		expected.turn(t, w.now, w.turn(t, protocol.Left))
		expected.same(w.slot())
		for i, x := range contents {
			removed, _, err := w.s.Cancel(ctx, w.k, false, x)
			w.must(err == nil && removed == (i%3 < 2), "%v, content %d: cancelled %v, %v", k, i, removed, err)
		}
	}
}}}
