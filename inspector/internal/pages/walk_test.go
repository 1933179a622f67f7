package pages

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// sortedSet is a sorted set as Redis keeps it.
type sortedSet []Member

func ascending(a, b Member) int { return NewWalk("", 0, 0, false, 1).order(a, b) }

func (s *sortedSet) add(m Member) {
	if n, there := slices.BinarySearchFunc(*s, m, ascending); !there {
		*s = slices.Insert(*s, n, m)
	}
}

func (s *sortedSet) remove(m Member) {
	if n, there := slices.BinarySearchFunc(*s, m, ascending); there {
		*s = slices.Delete(*s, n, n+1)
	}
}

// page is what page.lua answers to what the walk asks for, if there is room for so many.
func (s sortedSet) page(w *Walk, room int) (page []Member, next string) {
	for n := w.From; n < len(s); n++ {
		m := s[n]
		if w.down {
			m = s[len(s)-1-n]
		}
		if len(page) == min(room, w.page+1) {
			return page, fmt.Sprint(m.Score)
		}
		page = append(page, m)
	}
	return page, ""
}

// While anything comes and goes between the pages, what stays is met exactly once, in its
// order, and nothing that is not meant; and it ends.
func TestWalkMeetsWhatStaysOnce(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	for run := range 200 {
		levels := 1 + random.IntN(20) // few levels: many ties
		drawn := func() Member {
			return Member{fmt.Sprint(random.IntN(10000)), float64(random.IntN(levels))}
		}
		var set, stays, goes sortedSet
		for range random.IntN(300) {
			m := drawn()
			if slices.Contains(set, m) {
				continue
			}
			set.add(m)
			if random.IntN(3) > 0 {
				stays.add(m)
			} else {
				goes.add(m)
			}
		}
		low, high := math.Inf(-1), math.Inf(1)
		if random.IntN(2) == 0 {
			low = float64(random.IntN(levels))
		}
		if random.IntN(2) == 0 {
			high = float64(random.IntN(levels))
		}
		w := NewWalk("", low, high, random.IntN(2) == 0, 1+random.IntN(20))
		if random.IntN(2) == 0 { // as after counting those that come before
			before := 0
			for _, m := range set {
				if w.order(m, w.met) < 0 {
					before++
				}
			}
			w.From = max(0, before-1)
		}
		var met []Member
		churn := random.IntN(40)
		large := random.IntN(2) == 0 // contents, so that there is room for few of them
		for pages := 0; !w.Over; pages++ {
			if pages > 4000 {
				t.Fatalf("run %d: %d pages of %d, and no end", run, pages, w.page)
			}
			for range churn * (10 - min(10, pages/10)) / 10 { // it calms down in the end
				if m := drawn(); random.IntN(2) == 0 && !slices.Contains(stays, m) {
					set.add(m)
					goes.add(m)
				} else if len(goes) > 0 {
					m := goes[random.IntN(len(goes))]
					set.remove(m)
					goes.remove(m)
				}
			}
			room := 1000
			if large {
				room = random.IntN(4)
				if pages%4 == 3 { // by force
					room = 2
				}
			}
			w.Take(set.page(w, room))
			met = append(met, w.ready...)
			w.ready = nil
		}
		if !slices.IsSortedFunc(met, w.order) || len(slices.Compact(slices.Clone(met))) != len(met) {
			t.Fatalf("run %d: not each once in their order: %v", run, met)
		}
		for _, m := range stays {
			if _, is := slices.BinarySearchFunc(met, m, w.order); is != (m.Score >= low && m.Score <= high) {
				t.Fatalf("run %d: %v stays, and was it met? %v", run, m, is)
			}
		}
		for _, m := range met {
			if m.Score < low || m.Score > high {
				t.Fatalf("run %d: %v is not meant", run, m)
			}
		}
	}
}

// However much is removed before the cursor, a few pages find the place again.
func TestWalkFindsItsPlaceAgain(t *testing.T) {
	t.Parallel()
	var set sortedSet
	for n := range 100_000 {
		set = append(set, Member{fmt.Sprintf("%06d", n), 7})
	}
	w := NewWalk("", math.Inf(-1), math.Inf(1), false, 100)
	for len(w.ready) == 0 || w.ready[0].Content < "090000" {
		w.Take(set.page(w, 1000))
	}
	last, err := strconv.Atoi(w.met.Content)
	must.Do(t, err)
	want := Member{fmt.Sprintf("%06d", last+1), 7}
	set = set[80_000:]
	w.ready = nil
	pages := 0
	for ; len(w.ready) == 0; pages++ {
		w.Take(set.page(w, 1000))
	}
	if w.ready[0] != want || pages > 40 {
		t.Errorf("%v after %d pages, want %v soon", w.ready[0], pages, want)
	}
}
