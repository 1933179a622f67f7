package commands

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/columns"
	"github.com/slotmq/go-rmq/internal/humantime"
)

// progress shows on stderr how far a long command is: a bar on a terminal, elsewhere a
// line every few seconds.
type progress struct {
	w         io.Writer
	on        screen
	what      string
	total     int     // 0: not known
	most      float64 // a second, as --rate allows; 0: any number
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

// show prints how many are done, unless it just did.
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
	n := columns.Of(line)
	fmt.Fprint(p.w, "\r"+line+strings.Repeat(" ", max(0, p.displayed-n)))
	p.displayed = n
}

// perSecond is a rate. What is slow would be 0 without its fraction.
func perSecond(rate float64) string {
	if rate > 0 && rate < 10 {
		return strconv.FormatFloat(rate, 'g', 2, 64) + "/s"
	}
	return fmt.Sprintf("%.0f/s", rate)
}

// line is what is shown after that time, one column shorter than the screen.
func (p *progress) line(after time.Duration) string {
	rate := float64(p.done) / max(after.Seconds(), 0.001)
	if p.most > 0 {
		rate = min(rate, p.most)
	}
	if p.total <= 0 {
		return columns.Shorten(fmt.Sprintf("%s  %d  %s", p.what, p.done, perSecond(rate)), p.on.width-1)
	}
	done := min(p.done, p.total) // more may have come since they were counted
	figures := fmt.Sprintf("%d of %d  %s", done, p.total, perSecond(rate))
	if p.most > 0 {
		rate = p.most
	}
	if rest := float64(p.total - done); rest > 0 && rate > 0 {
		left := time.Duration(min(math.Ceil(rest/rate), 1e9)) * time.Second
		figures += "  " + humantime.Duration(left) + " left"
	}
	const most = 20
	bar := ""
	if room := p.on.width - 1 - len(p.what) - len(figures) - 6; p.on.terminal && room >= 5 {
		room = min(room, most)
		full := room * done / p.total
		bar = "[" + strings.Repeat("=", full) + strings.Repeat(" ", room-full) + "]  "
	}
	return columns.Shorten(p.what+"  "+bar+figures, p.on.width-1)
}
