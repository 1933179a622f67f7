package protocol_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
)

// The scripts for people where a key is broken, and where Redis is full: just
// then somebody looks, and has to change something.

func TestByHandOnAnIllServer(t *testing.T) { onEachServer(t, illTrials) }

var illTrials = []trial{
	{name: "wrong type: by hand", run: wrongTypesByHand},
	{name: "wrong type: notes by hand", run: func(w *world) {
		w.clean(fixedTime)
		w.put("m")
		number := w.kill(0, "m")
		w.put("n")
		w.kill(number, "n")
		w.put("n")
		before := w.slot()
		w.breakKey(w.noteKey)
		_, find := w.s.Find(ctx, w.k, false, "m")
		_, requeue := w.s.Requeue(ctx, w.k, false, 0, []byhand.DeadItem{{Content: "n", Died: w.time()}, {Content: "m", Died: w.time()}})
		w.must(find != nil && requeue != nil, "%v, %v", find, requeue)
		w.repairKey(w.noteKey)
		before.same(w.slot())
	}},
	{name: "full: pause and resume", live: true, run: func(w *world) {
		w.clean(rangeMerge)
		for _, on := range []bool{true, false} {
			w.full(true)
			changed, _, err := w.s.Pause(ctx, w.k, on)
			w.full(false)
			w.must(changed && err == nil && w.slot().paused == on, "%v: %v, %v", on, changed, err)
		}
	}},
	{name: "full: requeue and delete", live: true, run: func(w *world) {
		for _, k := range kinds {
			for _, place := range append(livePlaces, livePlace{name: "nowhere", reach: func(_ *world, number int64) int64 { return number }}) {
				for _, remove := range []bool{false, true} {
					if place.only != nil && !place.only(k) {
						continue
					}
					w.clean(k)
					w.put("m")
					number := w.kill(0, "m")
					m := byhand.DeadItem{Content: "m", Died: w.time()}
					w.later(5)
					place.reach(w, number)
					expected := w.slot()
					expected.takeOut(remove, k == priorityKind, 0, []byhand.DeadItem{m}, w.now)
					w.do("hdel", w.k.Meta, "why") // so that it has to be set
					w.full(true)
					var words []byhand.DeadResult
					var err error
					if remove {
						words, err = w.s.Delete(ctx, w.k, []byhand.DeadItem{m})
					} else {
						words, err = w.s.Requeue(ctx, w.k, k == priorityKind, 0, []byhand.DeadItem{m})
					}
					w.full(false)
					w.must(err == nil, "%v, %s: %v, %v", k, place.name, words, err)
					s := w.slot()
					expected.same(s)
					w.sound(s)
				}
			}
		}
	}},
	{name: "full: reschedule", live: true, run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			w.put("m", "n")
			a := w.took(w.as("a", 0), "m", "n")
			w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("m", time.Hour), giveBack("n", 50))))
			to := byhand.Move{In: time.Minute}
			if k == priorityKind {
				to = byhand.Move{Priority: 99}
			}
			for x, to := range map[string]byhand.Move{"m": {In: time.Minute}, "n": to} {
				expected := w.slot()
				w.full(true)
				_, _, _, err := w.s.Reschedule(ctx, w.k, x, to)
				w.full(false)
				w.must(err == nil, "%v, %s: %v", k, x, err)
				expected.reschedule(x, to, w.now)
				expected.same(w.slot())
			}
		}
	}},
	{name: "full: look", live: true, run: func(w *world) {
		w.clean(rangeMerge)
		w.put("m")
		w.full(true)
		_, err1 := w.s.Count(ctx, w.k, false)
		_, err2 := w.s.Find(ctx, w.k, false, "m")
		_, err3 := w.s.Audit(ctx, w.k, byhand.PartWhy, "0", 10)
		w.full(false)
		w.must(err1 == nil && err2 == nil && err3 == nil, "%v, %v, %v", err1, err2, err3)
	}},
}

// byHandCalls are the calls of the scripts for people, with the keys that each
// of them looks at.
var byHandCalls = []struct {
	name, keys string
	call       func(w *world) error
}{
	{"count", "store prepare retry dead meta", func(w *world) error {
		_, err := w.s.Count(ctx, w.k, w.topic == priorityKind)
		return err
	}},
	{"find", "store prepare retry dead meta why", func(w *world) error {
		_, err := w.s.Find(ctx, w.k, w.topic == priorityKind, "m")
		return err
	}},
	{"pause", "meta", func(w *world) error {
		_, _, err := w.s.Pause(ctx, w.k, true)
		return err
	}},
	{"resume", "meta", func(w *world) error {
		_, _, err := w.s.Pause(ctx, w.k, false)
		return err
	}},
	{"requeue", "store prepare retry dead meta why", func(w *world) error {
		_, err := w.s.Requeue(ctx, w.k, w.topic == priorityKind, 0, w.corpses())
		return err
	}},
	{"delete", "store prepare retry dead meta why", func(w *world) error {
		_, err := w.s.Delete(ctx, w.k, w.corpses())
		return err
	}},
	{"reschedule", "store prepare retry meta", func(w *world) error {
		_, _, _, err := w.s.Reschedule(ctx, w.k, "m", byhand.Move{Priority: 1e12})
		return err
	}},
	{"reschedule a retry", "store prepare retry meta", func(w *world) error {
		_, _, _, err := w.s.Reschedule(ctx, w.k, "r", byhand.Move{In: time.Minute})
		return err
	}},
}

// corpses are the two dead ones of wrongTypesByHand: d merges into a retry.
func (w *world) corpses() []byhand.DeadItem {
	return []byhand.DeadItem{{Content: "d", Died: time.UnixMilli(startOfTime)}, {Content: "e", Died: time.UnixMilli(startOfTime)}}
}

func wrongTypesByHand(w *world) {
	for _, k := range kinds {
		for name, key := range w.slotKeys() {
			for _, c := range byHandCalls {
				w.clean(k)
				w.put("d", "e")
				a := w.took(w.as("a", 0), "d", "e")
				d, e := bury("d"), bury("e")
				d.Priority, e.Priority = a.Priority(0), a.Priority(1)
				number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, d, e)))
				w.later(10)
				w.put("d", "r")
				number = w.tells(protocol.Left, leaving(w.as("a", w.took(w.as("a", number), "d", "r").Fence, fail("d", time.Hour), fail("r", time.Hour))))
				w.put("f")
				w.took(w.as("a", number), "f")
				w.put("m")
				before, everywhere := w.slot(), w.everywhere()
				w.breakKey(key)
				err := c.call(w)
				w.must(maps.Equal(everywhere, w.everywhere()), "%v, %s, wrong %s: %v before, %v after", k, c.name, name, everywhere, w.everywhere())
				w.repairKey(key)
				if !contains(c.keys, name) {
					w.must(err == nil, "%v, %s, wrong %s: %v", k, c.name, name, err)
					continue
				}
				w.must(err != nil && strings.Contains(err.Error(), "WRONGTYPE"), "%v, %s, wrong %s: %v", k, c.name, name, err)
				if strings.Contains(err.Error(), "user_script") { // not in memory
					w.must(strings.Contains(strings.Split(err.Error(), " not of the type ")[0], key), "%v, %s, wrong %s: %v", k, c.name, name, err)
				}
				before.same(w.slot())
				w.must(c.call(w) == nil, "%v, %s, %s repaired", k, c.name, name)
			}
			w.breakKey(key)
			a, err := w.s.Audit(ctx, w.k, byhand.PartStore, "0", 10)
			w.must(err == nil, "audit, wrong %s: %v", name, err)
			b := a.Violations()
			w.must(len(b) == 1 && b[0].Rule == "TYPES" && b[0].Key == key, "audit, wrong %s: %s", name, inWords(b))
			w.repairKey(key)
		}
	}
}
