package periodic

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
)

// planned is a timetable of some topics.
func planned(n int, gap, period time.Duration) (*Timetable[int], []int) {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return NewTimetable(all, gap, func(int) time.Duration { return period }), all
}

// Each topic is due once in a period, spread over it, also after all of them were in a
// hurry together.
func TestTimetableKeepsTopicsApart(t *testing.T) {
	t.Parallel()
	made := time.Now()
	tt, all := planned(100, 0, 100*time.Hour)
	for i, topic := range all {
		if first := tt.of[topic].at.Sub(made).Round(time.Hour); first != time.Duration(i+1)*time.Hour {
			t.Errorf("topic %d is due for the first time in %v", i, first)
		}
	}
	begin := tt.of[all[0]].at.Add(-time.Hour)
	for _, topic := range all {
		tt.Hurry(topic)
	}
	if due, _ := tt.due(time.Now()); len(due) != 100 {
		t.Fatalf("%d of those in a hurry are due", len(due))
	}
	for round := range 3 {
		seen := map[int]int{}
		for hour := 1; hour <= 100; hour++ {
			due, in := tt.due(begin.Add(time.Duration(100*round+hour)*time.Hour + time.Second))
			for _, topic := range due {
				seen[topic]++
			}
			if len(due) != 1 || in > time.Hour {
				t.Fatalf("round %d, hour %d: %d are due, the next in %v", round, hour, len(due), in)
			}
		}
		if len(seen) != 100 {
			t.Fatalf("round %d: %d of 100 topics were due", round, len(seen))
		}
	}
}

// Very many that are due are handed out in lots, and none twice.
func TestTimetableHandsOutLots(t *testing.T) {
	t.Parallel()
	tt, all := planned(3*mostDue, 0, time.Hour)
	for _, topic := range all {
		tt.Hurry(topic)
	}
	var got []int
	for range 3 {
		due := tt.Next(t.Context())
		if len(due) != mostDue {
			t.Fatalf("%d are handed out together", len(due))
		}
		got = append(got, due...)
	}
	if due, _ := tt.due(time.Now()); len(due) > 0 {
		t.Errorf("%d are due twice", len(due))
	}
	for _, topic := range all {
		if !slices.Contains(got, topic) {
			t.Fatal("one was passed over")
		}
	}
}

// Who waits for the next one hears of a hurry at once, and of the end.
func TestTimetableHeedsAHurry(t *testing.T) {
	t.Parallel()
	tt, all := planned(2, time.Hour, time.Hour)
	got, end := make(chan []int), make(chan struct{})
	over, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(end)
		for due := tt.Next(over); due != nil; due = tt.Next(over) {
			got <- due
		}
	}()
	tt.Hurry(all[1])
	if due := <-got; len(due) != 1 || due[0] != all[1] {
		t.Errorf("%d are due", len(due))
	}
	cancel()
	await.Signal(t, "its end", end)
}

// What is for one server is asked together, once; what is added while it is asked is asked
// again; and a server that does not answer holds up no other.
func TestLines(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	asked, answer := make(chan []int), make(chan struct{})
	hung := make(chan struct{})
	e := NewLines(3, all.Go, func(addr string, some []int) {
		if addr == "hung" {
			<-hung
			return
		}
		asked <- some
		<-answer
	})
	want := func(things ...int) {
		t.Helper()
		if got := <-asked; !slices.Equal(got, things) {
			t.Errorf("asked for %v, want %v", got, things)
		}
	}
	e.Add("hung", 100, 101, 102, 103)
	e.Add("a", 1)
	want(1)
	e.Add("a", 2, 3, 2, 4, 5, 1, 3) // 1 is in hand, and may have been answered before
	answer <- struct{}{}
	want(2, 3, 4)
	answer <- struct{}{}
	want(5, 1)
	answer <- struct{}{}
	close(hung)
	all.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.lines) > 0 || len(e.known) > 0 {
		t.Errorf("%v and %v are left", e.lines, e.known)
	}
}
