package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/words"
)

// progress tells on stderr how far a long command is: a bar on a terminal, elsewhere a
// line every few seconds.
type progress struct {
	w         io.Writer
	on        screen
	what      string
	total     int // 0: not known
	begun     time.Time
	last      time.Time
	done      int
	displayed int // columns of the bar that is there
}

const (
	barEvery  = 100 * time.Millisecond
	lineEvery = 5 * time.Second
)

// progress begins one. Nothing is printed until [progress.show].
func (a *app) progress(what string, total int) *progress {
	now := time.Now()
	return &progress{w: a.errs, on: a.status, what: what, total: total, begun: now, last: now}
}

// show tells how many are done, unless it just did.
func (p *progress) show(done int) {
	p.done = done
	every := lineEvery
	if p.on.terminal {
		every = barEvery
	}
	if now := time.Now(); now.Sub(p.last) >= every {
		p.last = now
		p.print(now.Sub(p.begun))
	}
}

// end leaves the last state there, if a bar was shown. Without a total it was only a sign of
// life, and goes.
func (p *progress) end() {
	switch {
	case p.displayed == 0:
		return
	case p.total <= 0:
		fmt.Fprint(p.w, "\r"+strings.Repeat(" ", p.displayed)+"\r")
	default:
		p.print(time.Since(p.begun))
		fmt.Fprintln(p.w)
	}
	p.displayed = 0
}

func (p *progress) print(after time.Duration) {
	line := p.line(after)
	if !p.on.terminal {
		fmt.Fprintln(p.w, line)
		return
	}
	n := columns(line)
	fmt.Fprint(p.w, "\r"+line+strings.Repeat(" ", max(0, p.displayed-n)))
	p.displayed = n
}

// line is what is shown after that time, one column shorter than the screen.
func (p *progress) line(after time.Duration) string {
	rate := float64(p.done) / max(after.Seconds(), 0.001)
	if p.total <= 0 {
		return shorten(fmt.Sprintf("%s  %d  %.0f/s", p.what, p.done, rate), p.on.width-1)
	}
	done := min(p.done, p.total) // more may have come since they were counted
	figures := fmt.Sprintf("%d of %d  %.0f/s", done, p.total, rate)
	if rate > 0 {
		left := time.Duration(float64(p.total-done) / rate * float64(time.Second))
		figures += "  " + words.Duration(left) + " left"
	}
	const most = 20
	bar := ""
	if room := p.on.width - 1 - len(p.what) - len(figures) - 6; p.on.terminal && room >= 5 {
		room = min(room, most)
		full := room * done / p.total
		bar = "[" + strings.Repeat("=", full) + strings.Repeat(" ", room-full) + "]  "
	}
	return shorten(p.what+"  "+bar+figures, p.on.width-1)
}
