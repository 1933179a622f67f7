package commands

import (
	"strings"
	"testing"
	"time"
)

func TestProgressLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		screen      screen
		total, done int
		want        string
	}{
		{screen{width: 80}, 1000, 250, "requeue  250 of 1000  25/s  30s left"},
		{screen{width: 80, terminal: true}, 1000, 250, "requeue  [=====               ]  250 of 1000  25/s  30s left"},
		{screen{width: 50, terminal: true}, 1000, 250, "requeue  [==       ]  250 of 1000  25/s  30s left"},
		{screen{width: 40, terminal: true}, 1000, 1000, "requeue  [=======]  1000 of 1000  100/s"},
		{screen{width: 80, terminal: true}, 0, 250, "requeue  250  25/s"},
		{screen{width: 80}, 100, 250, "requeue  100 of 100  25/s"},
		{screen{width: 80}, 1000, 999, "requeue  999 of 1000  100/s  1s left"},
		{screen{width: 80}, 1000, 15, "requeue  15 of 1000  1.5/s  10m57s left"},
		{screen{width: 80}, 100, 0, "requeue  0 of 100  0/s"},
	} {
		p := &progress{what: "requeue", on: c.screen, total: c.total, done: c.done}
		if got := p.line(10 * time.Second); got != c.want {
			t.Errorf("%+v: %q, want %q", c.screen, got, c.want)
		}
	}
	// A step may come at once, but a rate is never exceeded.
	for done, want := range map[int]string{100: "requeue  100 of 311  100/s  3s left", 300: "requeue  300 of 311  100/s  1s left", 50: "requeue  50 of 311  50/s  3s left"} {
		p := &progress{what: "requeue", on: screen{width: 80}, total: 311, most: 100, done: done}
		if got := p.line(time.Second); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Where nobody watches, a line is printed every few seconds, and none by what is short.
func TestProgressWithoutTerminal(t *testing.T) {
	t.Parallel()
	var errs strings.Builder
	a := newApp(program, nil, nil, &errs)
	p := a.progress("requeue", 1000)
	p.show(1)
	p.end()
	if errs.String() != "" {
		t.Errorf("%q", errs.String())
	}
	p = a.progress("requeue", 1000)
	p.last = p.begun.Add(-lineEvery) // as if time had passed
	p.show(250)
	p.show(251)
	p.end()
	if out := errs.String(); strings.Count(out, "\n") != 1 || !strings.HasPrefix(out, "requeue  250 of 1000  ") {
		t.Errorf("%q", out)
	}
}

// Whether a command without a total was slow enough for a sign of life is not to be seen
// afterwards.
func TestSignOfLifeGoes(t *testing.T) {
	t.Parallel()
	var errs strings.Builder
	a := newApp(program, nil, nil, &errs)
	a.status.terminal = true
	p := a.progress("verify", 0)
	p.last = p.begun.Add(-barEvery) // as if time had passed
	p.show(32)
	shown := errs.String()
	p.end()
	p.end()
	if want := shown + "\r" + strings.Repeat(" ", len(shown)-1) + "\r"; shown == "" || errs.String() != want {
		t.Errorf("%q, want %q", errs.String(), want)
	}
}
