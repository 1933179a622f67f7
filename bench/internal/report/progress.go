package report

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Progress shows on standard error what is going on: on a terminal in one line
// that changes, elsewhere in a line for each step.
type Progress struct {
	to       *os.File
	terminal bool
	told     time.Time // the bar, last
}

// NewProgress returns a progress on standard error.
func NewProgress() *Progress {
	info, err := os.Stderr.Stat()
	return &Progress{to: os.Stderr, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// Say reports one step.
func (p *Progress) Say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.terminal {
		fmt.Fprintf(p.to, "\r\x1b[K%.120s", text)
	} else {
		fmt.Fprintln(p.to, text)
	}
}

// Bar reports how much of a long step is done, now and then.
func (p *Progress) Bar(label string, begun time.Time, done, total int) {
	every := 10 * time.Second
	if p.terminal {
		every = 100 * time.Millisecond
	}
	if done < total && time.Since(p.told) < every {
		return
	}
	p.told = time.Now()
	const width = 30
	full := width * done / total
	left := ""
	if took := time.Since(begun); done > 0 && done < total && took > time.Second {
		rest := time.Duration(float64(took) / float64(done) * float64(total-done))
		left = fmt.Sprintf(", %v left", rest.Round(time.Second))
	}
	p.Say("%s [%s%s] %3d %% %s of %s%s", label, strings.Repeat("#", full), strings.Repeat(".", width-full),
		100*done/total, Count(float64(done)), Count(float64(total)), left)
}

// Done clears the line, before something else is printed.
func (p *Progress) Done() {
	if p.terminal {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
}
