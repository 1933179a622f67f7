package frame

import (
	"strings"
	"testing"
	"time"
)

func TestProgressLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		screen      Screen
		total, done int
		want        string
	}{
		{Screen{Width: 80}, 1000, 250, "requeue  250 of 1000  25/s  30s left"},
		{Screen{Width: 80, Terminal: true}, 1000, 250, "requeue  [=====               ]  250 of 1000  25/s  30s left"},
		{Screen{Width: 50, Terminal: true}, 1000, 250, "requeue  [==       ]  250 of 1000  25/s  30s left"},
		{Screen{Width: 40, Terminal: true}, 1000, 1000, "requeue  [=======]  1000 of 1000  100/s"},
		{Screen{Width: 80, Terminal: true}, 0, 250, "requeue  250  25/s"},
		{Screen{Width: 80}, 100, 250, "requeue  100 of 100  25/s"},
		{Screen{Width: 80}, 1000, 999, "requeue  999 of 1000  100/s  1s left"},
		{Screen{Width: 80}, 1000, 15, "requeue  15 of 1000  1.5/s  10m57s left"},
		{Screen{Width: 80}, 100, 0, "requeue  0 of 100  0/s"},
	} {
		p := &Progress{what: "requeue", on: c.screen, Total: c.total, done: c.done}
		if got := p.line(10 * time.Second); got != c.want {
			t.Errorf("%+v: %q, want %q", c.screen, got, c.want)
		}
	}
	// A step may come at once, but a rate is never exceeded.
	for done, want := range map[int]string{100: "requeue  100 of 311  100/s  3s left", 300: "requeue  300 of 311  100/s  1s left", 50: "requeue  50 of 311  50/s  3s left"} {
		p := &Progress{what: "requeue", on: Screen{Width: 80}, Total: 311, Most: 100, done: done}
		if got := p.line(time.Second); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Without a terminal, a line is printed every few seconds, and none if all is done
// sooner.
func TestProgressWithoutTerminal(t *testing.T) {
	t.Parallel()
	var errs strings.Builder
	on := newPage("rmq", nil, nil, &errs)
	p := on.Progress("requeue", 1000)
	p.Show(1)
	p.End()
	if errs.String() != "" {
		t.Errorf("%q", errs.String())
	}
	p = on.Progress("requeue", 1000)
	p.last = p.begun.Add(-lineEvery) // as if time had passed
	p.Show(250)
	p.Show(251)
	p.End()
	if out := errs.String(); strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "requeue  250 of 1000  ") {
		t.Errorf("%q", out)
	}
}

// Whether a command without a total was slow enough for a sign of life is not to be seen
// afterwards.
func TestSignOfLifeGoes(t *testing.T) {
	t.Parallel()
	var errs strings.Builder
	on := newPage("rmq", nil, nil, &errs)
	on.Status.Terminal = true
	p := on.Progress("verify", 0)
	p.last = p.begun.Add(-barEvery) // as if time had passed
	p.Show(32)
	shown := errs.String()
	p.End()
	p.End()
	if want := shown + "\r" + strings.Repeat(" ", len(shown)-1) + "\r"; shown == "" || errs.String() != want {
		t.Errorf("%q, want %q", errs.String(), want)
	}
}

func TestProgressOnTerminal(t *testing.T) {
	t.Parallel()
	var errs strings.Builder
	on := newPage("rmq", nil, nil, &errs)
	on.Status = Screen{Terminal: true, Width: 60}
	p := on.Progress("requeue", 1000)
	p.last = p.begun.Add(-barEvery) // as if time had passed
	p.Show(250)
	p.Show(251) // too soon
	p.Show(1000)
	p.End()
	if out := errs.String(); !strings.HasPrefix(out, "\rrequeue  [=") || strings.Count(out, "requeue") != 2 || !strings.Contains(out, "250 of 1000  ") ||
		!strings.Contains(out, "1000 of 1000  ") || !strings.HasSuffix(out, "\n") {
		t.Errorf("%q", out)
	}
}
