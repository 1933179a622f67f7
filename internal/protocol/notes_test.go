package protocol_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// Notes of the sends that merge into a message.

func TestNotes(t *testing.T) { onEachServer(t, noteTrials) }

var noteTrials = []trial{
	{name: "note: one wait", run: func(w *world) {
		w.clean(fixedTime)
		one, two := map[string]string{"a b": "1 2"}, map[string]string{"c": "3"}
		for i, step := range []struct {
			ttl     int64
			headers map[string]string
			ends    int64 // ms after the first send; 0: never
			kept    string
		}{
			{500, nil, 500, ""},
			{100, one, 500, ` {"a b":"1 2"}`}, // as long as one of them
			{900, nil, 910, ` {"a b":"1 2"}`}, // the newest that has any
			{0, two, 0, ` {"c":"3"}`},         // for ever
			{900, nil, 0, ` {"c":"3"}`},
		} {
			at := startOfTime + int64(5*i)
			w.at(at)
			outcome := protocol.SendMerged
			if i == 0 {
				outcome = protocol.SendStored
			}
			w.sendAll(protocol.SendNote, false, 0, message{content: "x", score: at + 9000, ttl: step.ttl, headers: step.headers}).
				says(outcome, int64(startOfTime+9000))
			if step.ends > 0 {
				step.ends += startOfTime
			}
			// No batch was taken yet: so the stamp is below the number of the first one, which is the clock.
			w.noteIs("x", "%d %d %d %d %d%s", at*1000-1, i+1, startOfTime, at, step.ends, step.kept)
		}
	}},
	{name: "note: a new wait", run: func(w *world) {
		w.clean(fixedTime)
		w.do("hset", w.noteKey, "gone", "5 7 1 2 3 {}", "failed", "5 7 1 2 3 {}", "odd", "what is this?", "bare", "5 7 1 2 0")
		w.do("zadd", w.k.Store, 16, "failed", 17, "odd", 17, "bare", 17, "unknown")
		for _, x := range []string{"gone", "failed", "odd", "unknown"} {
			w.sendAll(protocol.SendNote, true, 0, message{content: x, score: w.now + 5})
			w.noteIs(x, "%d 1 %d %d 0", w.now*1000-1, w.now, w.now)
		}
		w.sendAll(protocol.SendNote, true, 0, message{content: "bare", score: w.now + 5, ttl: 9})
		w.noteIs("bare", "%d 8 1 %d 0", w.now*1000-1, w.now)
	}},
	{name: "note: the stamp", run: func(w *world) {
		w.clean(rangeMerge)
		send := func() { w.sendAll(protocol.SendNote, false, 0, message{content: "x", score: w.now}) }
		send()
		a := w.took(w.as("a", 0), "x") // in the same ms
		tells := func(fence int64, tells bool) {
			w.Helper()
			n, ok := protocol.ParseNote(fmt.Sprint(w.do("hget", w.noteKey, "x")))
			w.must(ok && n.Tells(fence) == tells, "of batch %d: %v, but the note is %+v", fence, !tells, n)
		}
		tells(a.Fence, true)
		send()
		tells(a.Fence, false)
		w.later(1)
		w.do("del", w.k.Meta) // by somebody
		send()
		tells(a.Fence, false)
		for _, odd := range []string{"", "x", "-5", "1e300", "0", "nan"} {
			w.do("hset", w.k.Meta, "batch", odd)
			send()
			tells(a.Fence, false)
			tells(w.now*1000, true) // the next one
		}
		w.later(1)
		w.do("hset", w.k.Meta, "batch", w.now*1000-3) // Redis has forgotten a batch behind that one
		send()
		tells(w.now*1000-2, false)
		tells(w.now*1000, true)
		w.do("hset", w.k.Meta, "batch", w.now*2000) // the clock was set back
		send()
		tells(w.now*2000, false)
		tells(w.now*2000+1, true)
	}},
	{name: "note: several at once", run: func(w *world) {
		w.clean(rangeMerge)
		w.do("zadd", w.k.Store, w.now+70, "waits", 16, "failed")
		w.sendAll(protocol.SendNote, false, 4,
			message{content: "a", score: w.now + 50, ttl: 30}, message{content: "b", score: w.now + 51}, message{content: "c", score: w.now + 52, ttl: 7},
			message{content: "a", score: w.now + 53, headers: map[string]string{"k": "v"}}, message{content: "waits", score: w.now + 54}).
			says(protocol.SendStored, w.now+50, protocol.SendStored, w.now+51, protocol.SendRefused, w.now+52, protocol.SendMerged, w.now+50, protocol.SendMerged, w.now+70)
		start := fmt.Sprintf("%d %%d %d %d ", w.now*1000-1, w.now, w.now)
		want := map[string]string{"a": fmt.Sprintf(start, 2) + `0 {"k":"v"}`, "b": fmt.Sprintf(start, 1) + "0", "waits": fmt.Sprintf(start, 1) + "0"}
		w.must(maps.Equal(w.slot().notes, want), "%q, not %q", w.slot().notes, want)
		w.sendAll(protocol.SendNote, false, 0, // new ones around one that waits
			message{content: "d", score: w.now, ttl: 7}, message{content: "a", score: w.now}, message{content: "e", score: w.now, ttl: 9})
		want["a"] = fmt.Sprintf(start, 3) + `0 {"k":"v"}`
		want["d"], want["e"] = fmt.Sprint(fmt.Sprintf(start, 1), w.now+7), fmt.Sprint(fmt.Sprintf(start, 1), w.now+9)
		w.must(maps.Equal(w.slot().notes, want), "%q, not %q", w.slot().notes, want)

		many := make([]message, 512)
		for i := range many {
			many[i] = message{content: fmt.Sprint(i), score: w.now}
		}
		w.sendAll(protocol.SendNote, true, 0, many...)
		w.must(len(w.slot().notes) == 517, "%d notes", len(w.slot().notes))
	}},
	{name: "note: with a ceiling", run: func(w *world) {
		w.clean(rangeMerge)
		both := protocol.SendNote | protocol.SendCeiling
		w.sendAll(both, false, 0, message{content: "x", score: 100, ceiling: 150, ttl: 40}, message{content: "y", score: w.now + 7}).
			says(protocol.SendStored, w.now+100, protocol.SendStored, w.now+7)
		w.later(60)
		w.sendAll(both, false, 0, message{content: "x", score: 100, ceiling: 150}).says(protocol.SendMerged, w.now-60+150)
		w.noteIs("x", "%d 2 %d %d 0", w.now*1000-1, w.now-60, w.now)
	}},
	{name: "note: parts of a ms", run: func(w *world) {
		w.clean(rangeMerge)
		w.do("set", w.clock, fmt.Sprint(w.now, ".75"))
		w.clockSet = 0
		w.do("hset", w.k.Meta, "batch", 7)
		cmd := redis.NewIntSliceCmd(ctx, append(w.s.SendArgs(w.k.Store, protocol.SendNote, false, 0), w.now, "x", "100")...)
		w.s.Exec(ctx, cmd)
		got := w.do("hget", w.noteKey, "x") // never later than it
		w.must(cmd.Err() == nil && got == fmt.Sprintf("%d 1 %d %d %d", w.now*1000+750-1, w.now, w.now, w.now+100), "%v, %q", cmd, got)
	}},
	{name: "note: a full server", live: true, run: func(w *world) {
		w.clean(rangeMerge)
		w.do("zadd", w.k.Store, w.now+5, "waits")
		w.do("config", "set", "maxmemory", "1")
		cmd := redis.NewIntSliceCmd(ctx, append(w.s.SendArgs(w.k.Store, protocol.SendNote, false, 0), w.now, "x", "", w.now, "waits", "")...)
		w.s.Exec(ctx, cmd)
		w.do("config", "set", "maxmemory", "0")
		s := w.slot()
		w.must(cmd.Err() != nil && strings.Contains(cmd.Err().Error(), "OOM") && len(s.store) == 1 && len(s.notes) == 0, "%v: %v, %v", cmd, s.store, s.notes)
	}},
	{name: "wrong type: note", run: func(w *world) {
		for _, key := range []string{w.noteKey, w.k.Meta, w.k.Store} {
			w.clean(rangeMerge)
			w.do("set", key, "of another program")
			cmd := redis.NewIntSliceCmd(ctx, append(w.s.SendArgs(w.k.Store, protocol.SendNote, false, 0), w.now+5, "x", "")...)
			w.s.Exec(ctx, cmd)
			n := w.do("exists", w.k.Store, w.noteKey)
			w.must(cmd.Err() != nil && n == map[bool]int64{true: 0, false: 1}[key == w.k.Meta], "%s: %v: %v written", key, cmd, n)
		}
	}},
}

// replies are those of one call of send.lua with fields.
type replies struct {
	w   *world
	all []int64
}

// sendAll calls send.lua with some messages.
func (w *world) sendAll(fields protocol.SendFields, last bool, most int, ms ...message) replies {
	w.Helper()
	args := w.s.SendArgs(w.k.Store, fields, last, most)
	for i := range ms {
		args = append(args, ms[i].args(fields)...)
	}
	cmd := redis.NewIntSliceCmd(ctx, args...)
	w.s.Exec(ctx, cmd)
	w.must(cmd.Err() == nil && len(cmd.Val()) == 2*len(ms), "%v", cmd)
	return replies{w, cmd.Val()}
}

// says compares them with an outcome and a score of each message.
func (r replies) says(want ...any) {
	r.w.Helper()
	all := make([]int64, len(want))
	for i, x := range want {
		switch x := x.(type) {
		case protocol.SendOutcome:
			all[i] = int64(x)
		case int64:
			all[i] = x
		}
	}
	r.w.must(slices.Equal(r.all, all), "answered %v, not %v", r.all, all)
}

// noteIs compares the note of a content.
func (w *world) noteIs(x, format string, args ...any) {
	w.Helper()
	got, want := w.slot().notes[x], fmt.Sprintf(format, args...)
	w.must(got == want, "the note of %s is %q, not %q", x, got, want)
}
