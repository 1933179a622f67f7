package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// noted are five messages, of which the last was not begun: three of entity a, two of b.
func noted() *worked {
	p := workPlan{names: []string{"a", "b"}}
	for i, at := range []int{0, 10, 20, 30, 40} {
		p.pieces = append(p.pieces, piece{at: time.Duration(at) * time.Millisecond, entity: i % 2})
	}
	w := newWorked(p, time.Now(), 1)
	for i, started := range []int{1, 12, 23, 44} {
		w.tried[i].Store(true)
		w.identities.handled(content(i, 16))
		w.started[i], w.ended[i] = time.Duration(started)*time.Millisecond, time.Duration(started+10)*time.Millisecond
	}
	return w
}

// A wait is from the planned time on, and what was not begun has waited until the end. The first tenth is
// left out.
func TestWorkedWaits(t *testing.T) {
	t.Parallel()
	w := noted()
	if got := millis(w.waits(100*time.Millisecond, nil)); !slices.Equal(got, []int{2, 3, 14, 60}) {
		t.Errorf("waits: %v", got)
	}
	if got := millis(w.waits(100*time.Millisecond, func(i int) bool { return i == 3 })); !slices.Equal(got, []int{14}) {
		t.Errorf("waits of one: %v", got)
	}
	if w.last() != 54*time.Millisecond {
		t.Errorf("the last ended after %v", w.last())
	}
}

// An entity is free when all that was sent for it before is over.
func TestFree(t *testing.T) {
	t.Parallel()
	w := noted() // a ends after 11 and 33 ms, b after 22 and 54
	if got, want := w.free(), []bool{true, true, true, true, true}; !slices.Equal(got, want) {
		t.Errorf("free: %v", got)
	}
	w.ended[2], w.pieces[3].at = 41*time.Millisecond, 21*time.Millisecond
	if got, want := w.free(), []bool{true, true, true, false, false}; !slices.Equal(got, want) {
		t.Errorf("free: %v", got)
	}
	w = newWorked(w.workPlan, time.Now(), 1) // none was handled
	if got, want := w.free(), []bool{true, true, false, false, false}; !slices.Equal(got, want) {
		t.Errorf("free: %v", got)
	}
}

// A message that is planned to fail does so once, and its retry is late from the end of the first
// handler and the pause on.
func TestRetries(t *testing.T) {
	t.Parallel()
	p := workPlan{pieces: []piece{{entity: 0, fails: true}, {entity: 1}}}
	w := newWorked(p, time.Now(), 1)
	for _, i := range []int{0, 1} {
		if err := w.handle(0, p.content(i, 16)); errors.Is(err, errPlanned) != (i == 0) {
			t.Errorf("message %d: %v", i, err)
		}
	}
	if err := w.check(0); err == nil {
		t.Error("one that failed counts as handled")
	}
	if err := w.handle(0, p.content(0, 16)); err != nil || w.check(0) != nil {
		t.Errorf("the retry: %v, %v", err, w.check(0))
	}
	w.ended[0], w.retried[0] = 5*time.Millisecond, 107*time.Millisecond
	if got := millis(w.retries(100*time.Millisecond, time.Second)); !slices.Equal(got, []int{2}) {
		t.Errorf("late: %v", got)
	}
	for end, want := range map[time.Duration][]int{time.Second: {895}, 100 * time.Millisecond: nil} {
		w.retried[0] = 0 // it has not begun
		if got := millis(w.retries(100*time.Millisecond, end)); !slices.Equal(got, want) {
			t.Errorf("at the end, after %v: %v", end, got)
		}
	}
	w.handle(0, p.content(0, 16))
	if err := w.check(0); err == nil || !strings.Contains(err.Error(), "1 deliveries were not the first") {
		t.Errorf("it came once more: %v", err)
	}
}

// Two handlers of an entity at once are an error, and so is a message that is nowhere.
func TestTwiceAtOnce(t *testing.T) {
	t.Parallel()
	p := workPlan{names: []string{"a"}, pieces: make([]piece, 2)}
	w := newWorked(p, time.Now(), 1)
	w.handle(0, p.content(0, 16))
	if err := w.check(1); err != nil {
		t.Errorf("one is held: %v", err)
	}
	if err := w.check(0); err == nil {
		t.Error("one is lost")
	}
	w.busy[0].Store(true)
	w.handle(0, p.content(1, 16))
	if err := w.check(0); err == nil || !strings.Contains(err.Error(), "twice at once") {
		t.Errorf("another ran: %v", err)
	}
}

// A worker that has less than half of its part is idle.
func TestIdleWorker(t *testing.T) {
	t.Parallel()
	w := newWorked(workPlan{pieces: make([]piece, 100)}, time.Now(), 2)
	w.by[0].Store(74)
	w.by[1].Store(26)
	if w.idle() {
		t.Error("26 of 100 are half of a part")
	}
	w.by[0].Store(76)
	w.by[1].Store(24)
	if !w.idle() {
		t.Error("24 of 100 are less")
	}
}
