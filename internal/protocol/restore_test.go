package protocol_test

import (
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
)

// What a journal brings back.

func TestRestore(t *testing.T) { onEachServer(t, restoreTrials) }

var restoreTrials = []trial{
	{name: "restore: what is lost, and nothing else", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			w.put("stored", "flying")
			a := w.turn(asking(1, w.as("a", 0)), protocol.Batch)
			flying := a.Contents[0]
			w.restores(0, w.lost("stored", 70), w.lost("flying", 70), w.lost("lost", 70), w.lost("lost", 80))
			w.restores(0, w.lost("lost", 90))
			w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail(flying, time.Hour))))
			w.restores(0, lost(flying, 70), w.lost("another", 70))
		}
	}},
	{name: "restore: with all deliveries", run: func(w *world) {
		w.clean(priorityKind)
		w.restores(0, lost("m", 70))
		a := w.took(w.as("a", 0), "m")
		w.must(a.Attempt == 1 && a.Priority(0) == 70, "%+v", a)
	}},
	{name: "restore: the number", run: func(w *world) {
		w.clean(priorityKind)
		given := int64(startOfTime*1000 + 3_600_000_000) // an hour ahead of the clock
		w.restores(given, lost("m", 70))
		a := w.took(w.as("a", given), "m")
		w.must(a.Fence > given, "fence %d after %d", a.Fence, given)
		w.restores(a.Fence+5, lost("n", 70)) // it is in flight
		w.must(w.slot().number == a.Fence, "number %d, in flight is %d", w.slot().number, a.Fence)
		w.tells(protocol.Left, leaving(w.as("a", a.Fence)))
		w.restores(given-1, lost("o", 70))
		w.must(w.slot().number >= a.Fence, "number %d after %d", w.slot().number, a.Fence)
		w.restores(a.Fence + 1e9) // and nothing else
	}},
	{name: "restore: notes", run: func(w *world) {
		w.clean(priorityKind)
		w.do("hset", w.noteKey, "bare", "1 2 3 4 0", "there", "1 2 3 4 0")
		w.do("zadd", w.k.Store, 70, "there")
		with := lost("m", 70)
		with.Note = &protocol.Note{Stamp: 39, Sends: 3, First: w.now - 5, Last: w.now, Expires: w.now + 1000, Headers: map[string]string{"k": "v"}}
		there := with
		there.Content = "there"
		above := with
		above.Content, above.Note = "above", &protocol.Note{Stamp: 1<<53 - 1, Sends: 1}
		w.restores(40, with, lost("bare", 70), there, above)
		w.noteIs("m", `39 3 %d %d %d {"k":"v"}`, w.now-5, w.now, w.now+1000)
		w.noteIs("above", "40 1 0 0 0")
		w.noteIs("there", "1 2 3 4 0")
		w.must(w.do("hget", w.noteKey, "bare") == nil, "the note of an earlier copy is left")
	}},
	{name: "restore: the dead", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			w.put("stored", "dies")
			w.tells(protocol.Left, leaving(w.as("a", w.turn(asking(1, w.as("a", 0)), protocol.Batch).Fence, bury("stored"), bury("dies"))))
			var all []byhand.Lost
			for _, x := range []string{"stored", "dies", "lost", "lost"} {
				all = append(all, byhand.Lost{Content: x, Dead: true, Died: w.time().Add(-time.Minute), Why: protocol.Failure{
					Attempts: 17, First: w.time().Add(-time.Hour), Last: w.time().Add(-time.Minute), Priority: 70, Worker: "a", Reason: "it burnt down",
				}})
			}
			w.restores(0, all...)
			why, _ := protocol.ParseFailure(w.slot().why["lost"])
			w.must(why == all[2].Why, "%+v, not %+v", why, all[2].Why)
		}
	}},
	{name: "wrong type: restore", run: func(w *world) {
		for _, key := range []string{w.k.Store, w.k.Prepare, w.k.Retry, w.k.Dead, w.k.Meta, w.k.Why, w.noteKey} {
			w.clean(priorityKind)
			w.do("set", key, "of another program")
			cmd := byhand.RestoreCmd(ctx, w.k, true, 7, []byhand.Lost{lost("m", 70), {Content: "d", Dead: true, Died: w.time()}})
			w.s.Exec(ctx, cmd)
			_, err := byhand.Restored(w.k, cmd)
			written := w.do("exists", w.k.Store, w.k.Dead, w.k.Meta, w.k.Why, w.noteKey)
			w.must(err != nil && written == map[bool]int64{true: 1, false: 0}[key != w.k.Prepare && key != w.k.Retry], "%s: %v, %v written", key, err, written)
		}
	}},
}

func lost(content string, score int64) byhand.Lost {
	return byhand.Lost{Content: content, Score: score}
}

// lost is a content that is due so many ms from now, or has that priority.
func (w *world) lost(content string, score int64) byhand.Lost {
	if w.topic != priorityKind {
		score += w.now
	}
	return lost(content, score)
}

// restores brings contents back, and compares what becomes of them.
func (w *world) restores(number int64, all ...byhand.Lost) {
	w.Helper()
	expected := w.slot()
	want := expected.restored(number, all)
	cmd := byhand.RestoreCmd(ctx, w.k, true, number, all)
	w.s.Exec(ctx, cmd)
	got, err := byhand.Restored(w.k, cmd)
	w.must(err == nil && slices.Equal(got, want), "%v: restored %v, not %v, %v", w.topic, got, want, err)
	s := w.slot()
	expected.same(s)
	w.sound(s)
}

// restored expects what restore.lua does and answers.
func (s *slot) restored(number int64, all []byhand.Lost) (stored []bool) {
	if len(s.prepare) == 0 {
		s.number = max(s.number, number)
	}
	done := map[string]bool{}
	for _, l := range all {
		x := l.Content
		_, alive := whereIs(s, x)
		_, buried := s.dead[x]
		stores := !alive && !done[x] && !(l.Dead && buried)
		if stored = append(stored, stores); !stores {
			continue
		}
		switch done[x] = true; {
		case l.Dead:
			s.dead[x], s.why[x] = l.Died.UnixMilli(), l.Why.String()
		case l.Note != nil:
			note := *l.Note
			note.Stamp = min(note.Stamp, s.number)
			s.store[x], s.notes[x] = l.Score, note.String()
		default:
			s.store[x] = l.Score
			delete(s.notes, x)
		}
	}
	return stored
}

// restore lets a journal bring something back in a run of the driver.
func (d *driver) restore() {
	d.at(d.now)
	var all []byhand.Lost
	for _, x := range d.contents {
		if d.IntN(2) == 0 {
			score := int64(17 + d.IntN(40))
			if d.kind != priorityKind {
				score = d.now + int64(d.IntN(1000)) - 300
			}
			all = append(all, lost(x, score))
		}
	}
	if len(all) == 0 {
		return
	}
	number := []int64{0, d.state.number, d.state.number + int64(d.IntN(3))}[d.IntN(3)]
	expected := d.state.clone()
	want := expected.restored(number, all)
	cmd := byhand.RestoreCmd(ctx, d.k, true, number, all)
	d.s.Exec(ctx, cmd)
	got, err := byhand.Restored(d.k, cmd)
	for i, stored := range want {
		if stored { // like a send
			d.ledger.send(all[i].Content, all[i].Score)
			d.ledger[all[i].Content].noted = nil
			d.count["restored"]++
		}
	}
	d.expects(expected, err, "restore %v with number %d: %v", all, number, got)
	need(slices.Equal(got, want), "RESTORE", "%v, not %v", got, want)
}

var restoreDamages = []damage{
	{"what waits stays", "restore: what is lost, and nothing else", `(waits[i] or flies[i] or again[i] or done[x])`, `(flies[i] or again[i] or done[x])`},
	{"what is in flight stays", "restore: what is lost, and nothing else", `(waits[i] or flies[i] or again[i] or done[x])`, `(waits[i] or again[i] or done[x])`},
	{"what waits for its retry stays", "restore: what is lost, and nothing else", `(waits[i] or flies[i] or again[i] or done[x])`, `(waits[i] or flies[i] or done[x])`},
	{"the first of two counts", "restore: what is lost, and nothing else", `(waits[i] or flies[i] or again[i] or done[x])`, `(waits[i] or flies[i] or again[i])`},
	{"who is alive is not dead", "restore: the dead", `(waits[i] or flies[i] or again[i] or died[i] or done[x])`, `(died[i] or done[x])`},
	{"who is dead stays so", "restore: the dead", `or died[i] or done[x]`, `or done[x]`},
	{"and why is kept", "restore: the dead", "    call('HSET', why, x, text)\n", ""},
	{"fences go on growing", "restore: the number", "  call('HSET', meta, 'batch', string.format('%.0f', number))\n", ""},
	{"but not under a batch", "restore: the number", ` and call('ZCARD', prepare) == 0`, ``},
	{"and comes alone, too", "restore: the number", `contents[1] = contents[1] or ''`, ``},
	{"nor back", "restore: the number", `given > number and`, `given > 0 and`},
	{"notes come back", "restore: notes", `if note and text ~= '' then`, `if false then`},
	{"with their stamp", "restore: notes", `math.min(tonumber(stamp), number)`, `number`},
	{"which a batch to come is above", "restore: notes", `math.min(tonumber(stamp), number)`, `tonumber(stamp)`},
	{"that of an earlier copy goes", "restore: notes", `    elseif note then call('HDEL', note, x) end`, `    end`},
	{"a wrong note shows before the first write", "wrong type: restore", "if note then call('HLEN', note) end\n", ""},
	{"a wrong record shows before the first write", "wrong type: restore", "call('HLEN', why)\n", ""},
}
