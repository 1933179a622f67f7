package protocol_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
)

// What a person removes from a slot, whatever it is.

func TestPurge(t *testing.T) { onEachServer(t, purgeTrials) }

var purgeParts = []byhand.PurgePart{byhand.PurgeWaiting, byhand.PurgeFailed, byhand.PurgeRetry}

var purgeTrials = []trial{
	{name: "purge: what waits", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			w.put("f", "g", "r", "s", "dies", "flies")
			a := w.took(w.as("a", 0), "f", "g", "r", "s", "dies", "flies")
			number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("f", 0), fail("g", 0), fail("r", time.Hour), fail("s", time.Minute), bury("dies"), giveBack("flies", 60))))
			w.put("flies")
			w.tells(protocol.Batch, asking(1, w.as("a", number)))
			w.put("a", "b", "c")
			for _, part := range purgeParts {
				w.purges(byhand.Purge{Part: part, Most: 1, Bytes: 1 << 20, Tell: true})
			}
			for _, part := range []byhand.PurgePart{byhand.PurgeFailed, byhand.PurgeWaiting, byhand.PurgeRetry} {
				w.purges(byhand.Purge{Part: part, Most: 400, Bytes: 1 << 20})
				w.purges(byhand.Purge{Part: part, Most: 400, Bytes: 1 << 20, Tell: true}) // none is left
			}
			s := w.slot()
			w.must(len(s.store)+len(s.retry) == 0 && len(s.prepare) == 1 && len(s.dead) == 1, "%v: %+v", k, s)
		}
	}},
	{name: "purge: beside other copies", run: func(w *world) {
		for _, k := range kinds {
			for _, place := range livePlaces {
				for _, dies := range []bool{true, false} {
					for _, part := range purgeParts {
						if place.only != nil && !place.only(k) {
							continue
						}
						w.clean(k)
						number := int64(0)
						if dies {
							w.put("m")
							number = w.kill(0, "m")
							w.later(5)
						}
						place.reach(w, number)
						w.do("zadd", w.seen, w.now+10_000, "m", w.now+10_000, "other")
						w.do("hset", w.noteKey, "m", "1 1 2 2 3", "other", "1 1 2 2 3")
						w.purges(byhand.Purge{Part: part, Most: 400, Bytes: 1 << 20, Tell: true})
					}
				}
			}
		}
	}},
	{name: "purge: in pages", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			for i := range 450 {
				x := fmt.Sprintf("%d\x00\xff\n", i)
				if i < len(anyBytes) {
					x = anyBytes[i]
				}
				w.do("zadd", w.k.Store, w.now+int64(i), x)
				w.do("hset", w.noteKey, x, "1 1 2 2 3")
			}
			first := byhand.Purge{Part: byhand.PurgeWaiting, Most: 400, Bytes: 1 << 20, Tell: true}
			w.purges(first)
			w.purges(first)
			s := w.slot()
			w.must(len(s.store)+len(s.notes) == 0, "%v: %d, %d notes", k, len(s.store), len(s.notes))
		}
	}},
	{name: "purge: so many bytes", run: func(w *world) {
		w.clean(fixedTime)
		for i, x := range []string{strings.Repeat("a", 100), "b", strings.Repeat("c", 49), strings.Repeat("d", 50), "e"} {
			w.do("zadd", w.k.Store, w.now+int64(i), x)
		}
		for _, want := range []int{1, 2, 1, 1, 0} { // the first one in any case
			gone := w.purges(byhand.Purge{Part: byhand.PurgeWaiting, Most: 400, Bytes: 50, Tell: true})
			w.must(len(gone) == want, "%q, not %d", gone, want)
		}
	}},
	{name: "wrong type: purge", run: func(w *world) {
		keys := w.slotKeys()
		keys["note"], keys["seen"] = w.noteKey, w.seen
		delete(keys, "meta") // which it does not look at
		for name, key := range keys {
			for _, part := range purgeParts {
				w.clean(rangeMerge)
				w.put("f", "r")
				w.took(w.as("a", 0), "f", "r")
				w.tells(protocol.Left, leaving(w.as("a", w.slot().number, fail("f", 0), fail("r", time.Hour))))
				w.put("m")
				before, everywhere := w.slot(), w.everywhere()
				w.breakKey(key)
				_, _, err := w.purge(byhand.Purge{Part: part, Most: 400, Bytes: 1 << 20})
				w.must(err != nil && maps.Equal(everywhere, w.everywhere()), "wrong %s: %v", name, err)
				if strings.Contains(err.Error(), "user_script") { // not in memory
					w.must(strings.Contains(strings.Split(err.Error(), " not of the type ")[0], key), "wrong %s: %v", name, err)
				}
				w.repairKey(key)
				before.same(w.slot())
				w.purges(byhand.Purge{Part: part, Most: 400, Bytes: 1 << 20, Tell: true})
			}
		}
	}},
	{name: "full: purge", live: true, run: func(w *world) {
		for _, part := range purgeParts {
			w.clean(rangeMerge)
			w.put("f", "r")
			w.took(w.as("a", 0), "f", "r")
			w.tells(protocol.Left, leaving(w.as("a", w.slot().number, fail("f", 0), fail("r", time.Hour))))
			w.put("m")
			w.full(true)
			n, _, err := w.purge(byhand.Purge{Part: part, Most: 400, Bytes: 1 << 20})
			w.full(false)
			w.must(n == 1 && err == nil, "%s: %d, %v", part, n, err)
		}
	}},
}

func (w *world) purge(p byhand.Purge) (n int, contents []string, err error) {
	cmd := byhand.PurgeCmd(ctx, w.k, true, p)
	w.s.Exec(ctx, cmd)
	return byhand.Purged(w.k, cmd)
}

// purges removes a part of a slot, and compares what is left. It returns what is gone.
func (w *world) purges(p byhand.Purge) []string {
	w.Helper()
	expected := w.slot()
	want := expected.purge(p)
	n, contents, err := w.purge(p)
	w.must(err == nil && n == len(want) && slices.Equal(contents, want[:len(want)*tellsAs(p)]), "%v, %+v: %d, %q, not %q, %v", w.topic, p, n, contents, want, err)
	s := w.slot()
	expected.same(s)
	w.sound(s)
	return want
}

// tellsAs is 1 if the contents are told.
func tellsAs(p byhand.Purge) int {
	if p.Tell {
		return 1
	}
	return 0
}

// purge expects what purge.lua does and tells.
func (s *slot) purge(p byhand.Purge) (gone []string) {
	from, other := s.store, s.retry
	if p.Part == byhand.PurgeRetry {
		from, other = s.retry, s.store
	}
	bytes := 0
	for _, x := range ordered(from) {
		if p.Part == byhand.PurgeWaiting && x.score <= retries || p.Part == byhand.PurgeFailed && x.score > retries {
			continue
		}
		if bytes += len(x.content); len(gone) == p.Most || bytes > p.Bytes && len(gone) > 0 {
			break
		}
		gone = append(gone, x.content)
	}
	for _, x := range gone {
		delete(from, x)
		_, waits := other[x]
		_, flies := s.prepare[x]
		_, died := s.dead[x]
		if !waits {
			delete(s.notes, x)
		}
		if !waits && !flies {
			delete(s.seen, x)
		}
		if !waits && !flies && !died {
			delete(s.why, x)
		}
	}
	return gone
}

// purge removes all that waits in a run of the driver.
func (d *driver) purge() {
	expected := d.state.clone()
	for _, part := range purgeParts {
		p := byhand.Purge{Part: part, Most: 400, Bytes: 1 << 20, Tell: true}
		want := expected.purge(p)
		n, contents, err := d.world.purge(p)
		need(err == nil && n == len(want) && slices.Equal(contents, want), "PURGE", "%s: %d, %q, not %q, %v", part, n, contents, want, err)
		for _, x := range want {
			d.ledger.cancelled(expected, x)
			d.ledger[x].noted = nil
			if _, flies := expected.prepare[x]; !flies {
				d.ledger[x].unique = 0
			}
			d.count["purged "+string(part)]++
		}
	}
	d.expects(expected, nil, "purged")
}

var purgeDamages = []damage{
	{"first deliveries only", "purge: what waits", `if ARGV[1] == 'W' then first = failed `, `if ARGV[1] == 'W' then `},
	{"failed ones only", "purge: what waits", `most = math.min(most, failed)`, `most = most`},
	{"retries, where they are asked for", "purge: what waits", `else from, other = retry, store end`, `end`},
	{"so many", "purge: what waits", `for n = 1, most do`, `for n = 1, 400 do`},
	{"so many bytes", "purge: so many bytes", `or room < 0 and n > 1`, ``},
	{"the first one however long it is", "purge: so many bytes", `room < 0 and n > 1`, `room < 0`},
	{"all pages of names", "purge: in pages", `for i = 1, #names, 200 do`, `for i = 1, math.min(#names, 200), 200 do`},
	{"what is in flight is not touched", "purge: beside other copies", "  call('ZREM', from, unpack(some))\n", "  call('ZREM', from, unpack(some))\n  call('ZREM', prepare, unpack(some))\n"},
	{"their contents are told", "purge: what waits", `ARGV[4] == '1' and names or {}`, `{}`},
	{"only if asked for", "purge: what waits", `ARGV[4] == '1' and names or {}`, `names`},
	{"no note is left", driven, `if note and not waits[n] then call('HDEL', note, x) end`, ``},
	{"but that of another copy", "purge: beside other copies", `if note and not waits[n] then`, `if note then`},
	{"it may be sent again", "purge: beside other copies", `if not (waits[n] or flies[n]) then call('ZREM', seen, x) end`, ``},
	{"but not beside one that waits", "purge: beside other copies", `if not (waits[n] or flies[n]) then call`, `if not flies[n] then call`},
	{"nor beside one in flight", "purge: beside other copies", `if not (waits[n] or flies[n]) then call`, `if not waits[n] then call`},
	{"its failure is forgotten", driven, `if not (waits[n] or flies[n] or died[n]) then call('HDEL', why, x) end`, ``},
	{"not that of another copy", "purge: beside other copies", `(waits[n] or flies[n] or died[n])`, `(flies[n] or died[n])`},
	{"not that of one in flight", "purge: beside other copies", `(waits[n] or flies[n] or died[n])`, `(waits[n] or died[n])`},
	{"not that of a dead one", "purge: beside other copies", `(waits[n] or flies[n] or died[n])`, `(waits[n] or flies[n])`},
	{"a wrong prepare shows before the first write", "wrong type: purge", "call('ZCARD', prepare)\n", ""},
	{"a wrong retry shows before the first write", "wrong type: purge", "call('ZCARD', retry)\n", ""},
	{"a wrong dead shows before the first write", "wrong type: purge", "call('ZCARD', dead)\n", ""},
	{"a wrong why shows before the first write", "wrong type: purge", "call('HLEN', why)\n", ""},
	{"a wrong seen shows before the first write", "wrong type: purge", "call('ZCARD', seen)\n", ""},
	{"a wrong note shows before the first write", "wrong type: purge", "if note then call('HLEN', note) end\n", ""},
}
