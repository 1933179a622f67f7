package protocol_test

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
)

// What people are told who look at a slot.

func TestLook(t *testing.T) { onEachServer(t, lookTrials) }

var lookTrials = []trial{
	{name: "look: nothing there", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			w.told("m")
			f, err := w.s.Find(ctx, w.k, k == priorityKind, "m")
			w.must(err == nil && f.Nowhere() && f.Why == nil && f.Now.UnixMilli() == w.now, "%v: %+v, %v", k, f, err)
		}
	}},
	{name: "look: everywhere", run: lookEverywhere},
	{name: "look: a note", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			tells := func(x string, sends int64) {
				w.Helper()
				f, err := w.s.Find(ctx, w.k, k == priorityKind, x)
				w.must(err == nil && (f.Note == nil) == (sends == 0) && (sends == 0 || f.Note.Sends == sends), "%v: %s: %+v, %v, not %d", k, x, f, err, sends)
				w.told(x)
			}
			w.put("m", "n", "o", "odd")
			w.do("hset", w.noteKey, "m", "1 4 2 2 0", "n", "1 5 2 2 0", "o", "1 6 2 2 0", "odd", "no note", "gone", "1 7 2 2 0")
			tells("m", 4)
			tells("odd", 0)
			tells("gone", 0)
			a := w.took(w.as("a", 0), "m", "n", "o", "odd")
			tells("m", 4)
			w.do("hset", w.noteKey, "m", fmt.Sprint(a.Fence, " 1 2 2 0")) // of a later copy, which was cancelled
			tells("m", 0)
			w.put("m")
			tells("m", 1)
			w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("n", time.Hour), bury("o"))))
			tells("n", 5)
			tells("o", 0)
		}
	}},
	{name: "look: what goes first", run: lookOrder},
	{name: "look: page by page", run: lookPages},
	{name: "look: large contents", run: lookLarge},
	{name: "page: contents of a sorted set", run: readPages},
	{name: "look: a whole batch", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			for i := range maxBatch {
				w.put(fmt.Sprint("m", i))
			}
			w.turn(asking(maxBatch, w.as("a", 0)), protocol.Batch)
			w.told("m0", "x")
		}
	}},
	{name: "look: contents of any bytes", run: func(w *world) {
		for _, k := range kinds {
			w.clean(k)
			w.put(anyBytes...)
			a := w.took(asking(20, w.as("a", 0)), anyBytes...)
			var verdicts []protocol.Verdict
			for i, x := range anyBytes {
				verdicts = append(verdicts, []protocol.Verdict{fail(x, time.Second), bury(x)}[i%2])
			}
			w.tells(protocol.Left, leaving(w.as("a", a.Fence, verdicts...)))
			w.told(anyBytes...)
		}
	}},
}

// told compares what people are told of the slot and of some contents with what
// was read of it.
func (w *world) told(contents ...string) {
	w.Helper()
	s, priorities := w.slot(), w.topic == priorityKind
	count, err := w.s.Count(ctx, w.k, priorities)
	w.must(err == nil && count == s.counted(priorities, w.now), "counted %+v, not %+v; %v", count, s.counted(priorities, w.now), err)
	for _, x := range contents {
		got, err := w.s.Find(ctx, w.k, priorities, x)
		want := s.found(x, priorities, w.now)
		w.must(err == nil && reflect.DeepEqual(got, want), "found %.40q as %+v, not %+v; %v", x, got, want, err)
	}
	for _, part := range auditedParts {
		w.audited(s, part)
	}
	w.audited(s, 0, append([]string{"unheard of"}, contents...)...)
}

// plain is a number as Redis tells it, and nothing for 0.
func plain(text string) string {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return number(int64(n))
	}
	return text
}

// audited compares an audit of a whole part, or of some contents, with what was read of the slot.
func (w *world) audited(s *slot, part byhand.Part, contents ...string) {
	w.Helper()
	got, err := w.s.Audit(ctx, w.k, part, "0", 500)
	if part == 0 {
		got, err = byhand.ReadContents(ctx, w.s.rdb, w.k, contents)
	}
	w.must(err == nil, "audit: %v", err)
	if part == byhand.PartWhy {
		slices.SortFunc(got.Entries, func(a, b byhand.Entry) int { return cmp.Compare(a.Content, b.Content) })
	}
	for i := range got.Entries { // the in-memory Redis writes 1.7e+12
		e := &got.Entries[i]
		e.Store, e.Prepare, e.Retry, e.Dead = plain(e.Store), plain(e.Prepare), plain(e.Retry), plain(e.Dead)
	}
	got.Meta.Batch, got.Meta.Until, got.Meta.Lease = plain(got.Meta.Batch), plain(got.Meta.Until), plain(got.Meta.Lease)
	for i := range got.Flight {
		got.Flight[i].Score = plain(got.Flight[i].Score)
	}
	want := s.audit(w.k, part, w.now, contents...)
	w.must(reflect.DeepEqual(got, want), "audit of part %d: %+v, not %+v", part, got, want)
}

func lookEverywhere(w *world) {
	for _, k := range kinds {
		for _, delay := range []time.Duration{0, time.Hour} {
			w.clean(k)
			w.lease = 5 * time.Second
			w.put("one", "two")
			a := w.took(w.as("a", 0), "one", "two")
			number := w.tells(protocol.Left, leaving(w.as("a", a.Fence, fail("one", delay), bury("two"))))
			w.told("one", "two")
			w.do("zrem", w.k.Store, "one")
			w.later(1000)
			w.put("dead", "failed", "flying", "retried")
			a = w.took(w.as("a", number), "dead", "failed", "flying", "retried")
			w.told("dead", "failed", "x")
			w.later(1500)
			number = w.tells(protocol.Left, leaving(w.as("a", a.Fence, bury("dead"), fail("failed", delay), fail("retried", time.Minute), giveBack("flying", 60))))
			w.told("dead", "failed", "flying", "retried")
			w.took(asking(1, w.as("b", number)), map[bool]string{true: "failed", false: "flying"}[delay == 0 && k != priorityKind])
			w.later(60_000)
			w.put("new", "dead", "failed")
			w.do("zadd", w.k.Store, w.now+5000, "later")
			w.told("dead", "failed", "flying", "retried", "new", "later", "x")
			_, _, err := w.s.Pause(ctx, w.k, true)
			w.must(err == nil, "pause: %v", err)
			w.told("dead")
		}
	}
}

// lookOrder: how many go before a content is what a worker finds, too.
func lookOrder(w *world) {
	for _, k := range kinds {
		w.clean(k)
		for i, score := range []int64{17, 40, 40, 99, 1<<53 - 1} {
			if k != priorityKind {
				score = w.now - score%100
			}
			w.do("zadd", w.k.Store, score, fmt.Sprint("m", i))
		}
		number := int64(0)
		for left := 5; left > 0; left-- {
			w.told("m0", "m1", "m2", "m3", "m4")
			before := w.slot()
			a := w.turn(asking(1, w.as("a", number)), protocol.Batch)
			number = a.Fence
			f := before.found(a.Contents[0], k == priorityKind, w.now)
			w.must(f.Before == 0 && f.Stored != 0, "%v, %s: %+v", k, a.Contents[0], f)
		}
	}
}

// lookPages goes through each part in small steps.
func lookPages(w *world) {
	w.clean(rangeMerge)
	want := map[string]bool{}
	var stored, retrying, buried, why []any
	for i := range 700 {
		x := fmt.Sprint("m", i)
		want[x] = true
		stored = append(stored, w.now+int64(i/2), x)
		retrying = append(retrying, (w.now+int64(i/2))*100+16, x)
		buried = append(buried, w.now-int64(i/2), x)
		why = append(why, x, "1 1700000000000 1700000000000 - a it failed")
	}
	w.do(append([]any{"zadd", w.k.Store}, stored...)...)
	w.do(append([]any{"zadd", w.k.Retry}, retrying...)...)
	w.do(append([]any{"zadd", w.k.Dead}, buried...)...)
	w.do(append([]any{"hset", w.k.Why}, why...)...)
	w.do("zadd", w.k.Prepare, w.now/1000*1000+16, "flying")
	w.do("hset", w.k.Meta, "why", 1, "holder", "a", "batch", 1)
	for _, part := range auditedParts {
		got := map[string]bool{}
		for from, at, pages := "0", 0, 0; ; pages++ {
			w.must(pages < 1000, "part %d: there is no end", part)
			a, err := w.s.Audit(ctx, w.k, part, from, 100)
			w.must(err == nil && a.Violations() == nil, "part %d: %v, %v", part, a.Violations(), err)
			for _, e := range a.Entries {
				w.must(e.Store != "" && e.Prepare == "" && e.Retry != "" && e.Dead != "" && e.Why != "", "part %d: %+v", part, e)
				w.must(part == byhand.PartWhy || !got[e.Content], "part %d: %s twice", part, e.Content)
				got[e.Content] = true
			}
			at += len(a.Entries)
			w.must((len(a.Flight) == 1) == (pages == 0), "part %d: the batch in flight comes with the first page, %d: %v", part, pages, a.Flight)
			w.must(part == byhand.PartWhy || len(a.Entries) == 100, "part %d: a page of %d", part, len(a.Entries))
			if from = a.Next; from == "0" {
				w.must(part == byhand.PartWhy || at == 700, "part %d: the end is told after %d", part, at)
				break
			}
			w.must(part == byhand.PartWhy || from == fmt.Sprint(at), "part %d: the next page begins at %s, not %d", part, from, at)
		}
		w.must(len(got) == len(want), "part %d: %d contents", part, len(got))
	}
}
