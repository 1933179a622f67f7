package protocol_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/night"
)

// A batch holds at most 1 MiB of contents, or one content.

func TestLarge(t *testing.T) { onEachServer(t, largeTrials) }

var largeTrials = []trial{
	{name: "a batch is 1 MiB at most", run: func(w *world) {
		for _, k := range kinds {
			for _, c := range []struct {
				sizes []int // by their times, or priorities downwards
				want  []int // how many each batch takes
			}{
				{[]int{1 << 18, 1 << 18, 1 << 18, 1 << 18, 1 << 18, 1 << 18}, []int{4, 2}},
				{[]int{1 << 18, 1 << 18, 1 << 18, 1<<18 - 1, 1, 1}, []int{5, 1}},
				{[]int{1 << 21, 1 << 21, 10}, []int{1, 1, 1}},
				{[]int{10, 10, 1 << 21, 10}, []int{2, 1, 1}},
				{[]int{10, 10, 10, 10, 10, 10, 1 << 20, 10, 10}, []int{6, 1, 2}},
			} {
				w.clean(k)
				for i, size := range c.sizes {
					w.do("zadd", w.k.Store, w.score(i), content(i, size))
				}
				number := int64(0)
				for n, want := range c.want {
					a := w.turn(asking(maxBatch, w.as("a", number)), protocol.Batch)
					w.must(len(a.Contents) == want, "%v: batch %d of %v has %d contents, not %d", k, n, c.sizes, len(a.Contents), want)
					number = a.Fence
				}
				w.turn(w.as("a", number), protocol.Empty)
			}
		}
	}},
	{name: "large ones of different priorities", run: func(w *world) {
		// The highest two leave room for one of the level below, which has 30, all but one too large.
		w.clean(priorityKind)
		s := w.telling(1000)
		w.do("zadd", w.k.Store, 90, content(100, 400), 80, content(101, 300))
		for i := range 30 {
			w.do("zadd", w.k.Store, 50, content(i, map[bool]int{true: 290, false: 310}[i == 29]))
		}
		before, t := w.slot(), asking(20, w.as("a", 0))
		before.most, t.Random = 1000, 77
		a, err := s.Turn(ctx, t)
		w.must(err == nil && len(a.Contents) == 2 && a.Priority(0) == 90 && a.Priority(1) == 80, "%d, %d, %v", a.Priority(0), len(a.Contents), err)
		before.turn(t, w.now, a)
		before.same(w.slot())
		a, err = s.Turn(ctx, asking(2, w.as("a", a.Fence)))
		w.must(err == nil && len(a.Contents) == 2, "%d, %v", len(a.Contents), err)
	}},
	{name: "large equal ones do not starve", run: func(w *world) {
		// Each comes again at once. Those that sort last are the largest.
		for _, above := range []bool{false, true} {
			w.clean(priorityKind)
			s := w.telling(1000)
			const members = 30
			sizes := map[string]int64{}
			for i := range members {
				size := 200
				if i > members-5 {
					size = 600
				}
				sizes[content(i, size)] = 50
			}
			if above {
				sizes[content(members, 200)] = 60
			}
			for x, score := range sizes {
				w.do("zadd", w.k.Store, score, x)
			}
			random, drawn, number := rand.New(rand.NewPCG(8, 0)), map[string]int{}, int64(0)
			batches := night.Times(500, 1500)
			for range batches {
				t := asking(20, w.as("a", number))
				t.Random = random.IntN(1 << 30)
				a, err := s.Turn(ctx, t)
				w.must(err == nil && a.Code == protocol.Batch && fits(a.Contents, 1000), "%v, %d contents, %v", a.Code, len(a.Contents), err)
				number = a.Fence
				again := []any{"zadd", w.k.Store}
				for i, x := range a.Contents {
					w.must(a.Priority(i) == sizes[x], "%.4s has priority %d", x, a.Priority(i))
					again = append(again, sizes[x], x)
					drawn[x]++
				}
				w.do(again...)
			}
			for x := range sizes {
				w.must(100*drawn[x] >= batches, "%.4s of %d bytes was drawn %d times in %d batches: %v", x, len(x), drawn[x], batches, drawn)
			}
		}
	}},
	{name: "of large equal ones some are read twice", run: func(w *world) {
		// One of a level of 30 is too large. It stands in the window that is drawn first, with
		// two before it; so another one is read, of one content.
		w.clean(priorityKind)
		s := w.telling(1000)
		w.do("zadd", w.k.Store, 90, content(100, 10))
		for i := range 30 {
			w.do("zadd", w.k.Store, 50, content(i, map[bool]int{true: 1100, false: 10}[i == 29-14]))
		}
		before, t := w.slot(), asking(10, w.as("a", 0))
		before.most, t.Random = 1000, 8*38+20
		a, err := s.Turn(ctx, t)
		w.must(err == nil && len(a.Contents) == 2, "%d, %v", len(a.Contents), err)
		before.turn(t, w.now, a)
		before.same(w.slot())
	}},
	{name: "large ones of a few priorities", run: func(w *world) {
		s := w.telling(1000)
		for n := range uint64(night.Times(60, 500)) {
			seed := (n + 190) % 500 // 213 is the first that notices when priorities are not kept
			w.clean(priorityKind)
			random, want := rand.New(rand.NewPCG(seed, 1)), map[string]int64{}
			for i := range 4 + random.IntN(20) {
				x := content(i, 4+random.IntN(480))
				want[x] = int64(100 + random.IntN(3))
				w.do("zadd", w.k.Store, want[x], x)
			}
			for number := int64(0); len(want) > 0; {
				t := asking(maxBatch, w.as("a", number))
				t.Random = random.IntN(1 << 30)
				a, err := s.Turn(ctx, t)
				w.must(err == nil && a.Code == protocol.Batch, "seed %d: %v, %v", seed, a.Code, err)
				number = a.Fence
				for i, x := range a.Contents {
					w.must(want[x] == a.Priority(i), "seed %d: %.4s has priority %d, not %d", seed, x, a.Priority(i), want[x])
					delete(want, x)
				}
			}
		}
	}},
	{name: "little is read that is not taken", run: func(w *world) {
		for _, k := range kinds {
			for _, small := range []int{0, 1, 20} {
				w.clean(k)
				s := edited(w.rdb, func(name, _ string) string {
					const loop = "    for i = 1, #piece, step do "
					w.must(name != "turn" || strings.Count(w.sources[name], loop) == 1, "not found in turn.lua: %s", loop)
					return strings.Replace(w.sources[name], loop, loop+"call('INCRBY', 'bytes', #piece[i]) end\n"+loop, 1)
				})
				for i := range maxBatch {
					size := 1 << 16
					if i < small {
						size = 10
					}
					w.do("zadd", w.k.Store, w.score(i), content(i, size))
				}
				a, err := s.Turn(ctx, asking(maxBatch, w.as("a", 0)))
				read, _ := w.rdb.Get(ctx, "bytes").Int()
				most, want := 1<<20+1<<16, 16
				switch small {
				case 1:
					most, want = 2<<20, 16
				case 20:
					most, want = most+64<<16, small+15
				}
				w.must(err == nil && len(a.Contents) == want && read > 1<<19 && read <= most, "%v: %d contents, %d bytes read, %v", k, len(a.Contents), read, err)
			}
		}
	}},
}

// content is a content of so many bytes.
func content(i, size int) string {
	name := fmt.Sprintf("%04d", i)
	return name[4-min(4, size):] + strings.Repeat("x", max(0, size-4))
}

// score lets the i-th content come before those after it.
func (w *world) score(i int) int64 {
	if w.topic == priorityKind {
		return 5000 - int64(i)
	}
	return w.now - 5000 + int64(i)
}

func (w *world) turnAny(t *protocol.Turn) protocol.Answer {
	w.Helper()
	a, err := w.s.Turn(ctx, t)
	w.must(err == nil, "%v", err)
	return a
}
