package frame

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/text/columns"
	"github.com/slotmq/go-rmq/internal/text/humantime"
)

// Progress shows on stderr how far a long command is: a bar on a terminal, elsewhere a
// line every few seconds.
type Progress struct {
	w         io.Writer
	on        Screen
	what      string
	Total     int     // 0: not known
	Most      float64 // a second, as --rate allows; 0: any number
	begun     time.Time
	last      time.Time
	done      int
	displayed int // columns of the bar that is there
}

const (
	barEvery  = 100 * time.Millisecond
	lineEvery = 5 * time.Second
)

// Progress begins one. Nothing is printed until [Progress.Show].
func (p *Page) Progress(what string, total int) *Progress {
	now := time.Now()
	return &Progress{w: p.Errs, on: p.Status, what: what, Total: total, begun: now, last: now}
}

// Show prints how many are done, unless it just did.
func (p *Progress) Show(done int) {
	p.done = done
	every := lineEvery
	if p.on.Terminal {
		every = barEvery
	}
	if now := time.Now(); now.Sub(p.last) >= every {
		p.last = now
		p.print(now.Sub(p.begun))
	}
}

// End leaves the last state there, if a bar was shown. Without a total it was only a sign of
// life, and goes.
func (p *Progress) End() {
	switch {
	case p.displayed == 0:
		return
	case p.Total <= 0:
		fmt.Fprint(p.w, "\r"+strings.Repeat(" ", p.displayed)+"\r")
	default:
		p.print(time.Since(p.begun))
		fmt.Fprintln(p.w)
	}
	p.displayed = 0
}

func (p *Progress) print(after time.Duration) {
	line := p.line(after)
	if !p.on.Terminal {
		fmt.Fprintln(p.w, line)
		return
	}
	n := columns.Of(line)
	fmt.Fprint(p.w, "\r"+line+strings.Repeat(" ", max(0, p.displayed-n)))
	p.displayed = n
}

// perSecond is a rate. A slow rate would be 0 without its fraction.
func perSecond(rate float64) string {
	if rate > 0 && rate < 10 {
		return strconv.FormatFloat(rate, 'g', 2, 64) + "/s"
	}
	return fmt.Sprintf("%.0f/s", rate)
}

// line is what is shown after that time, one column shorter than the screen.
func (p *Progress) line(after time.Duration) string {
	rate := float64(p.done) / max(after.Seconds(), 0.001)
	if p.Most > 0 {
		rate = min(rate, p.Most)
	}
	if p.Total <= 0 {
		return columns.Shorten(fmt.Sprintf("%s  %d  %s", p.what, p.done, perSecond(rate)), p.on.Width-1)
	}
	done := min(p.done, p.Total) // more may have come since they were counted
	figures := fmt.Sprintf("%d of %d  %s", done, p.Total, perSecond(rate))
	if p.Most > 0 {
		rate = p.Most
	}
	if rest := float64(p.Total - done); rest > 0 && rate > 0 {
		left := time.Duration(min(math.Ceil(rest/rate), 1e9)) * time.Second
		figures += "  " + humantime.Duration(left) + " left"
	}
	const most = 20
	bar := ""
	if room := p.on.Width - 1 - len(p.what) - len(figures) - 6; p.on.Terminal && room >= 5 {
		room = min(room, most)
		full := room * done / p.Total
		bar = "[" + strings.Repeat("=", full) + strings.Repeat(" ", room-full) + "]  "
	}
	return columns.Shorten(p.what+"  "+bar+figures, p.on.Width-1)
}
