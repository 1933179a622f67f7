package commands

import (
	"io"
	"os"

	"golang.org/x/term"
)

// screen is what text is shown on.
type screen struct {
	terminal bool
	width    int // in columns
}

// screenOf is the terminal behind w, or a page of 80 columns.
func screenOf(w io.Writer) screen {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			if width < 1 { // it does not know
				width = 80
			}
			return screen{terminal: true, width: max(width, 40)}
		}
	}
	return screen{width: 80}
}

// width is how long lines of text may be; a number that nothing exceeds with --wide.
func (a *app) width() int {
	if a.wide {
		return 1 << 30
	}
	return a.screen.width
}

// hue is a colour of a terminal.
type hue string

const (
	plain  hue = ""
	red    hue = "31"
	green  hue = "32"
	yellow hue = "33"
	bold   hue = "1"
	faint  hue = "2"
)

// painted is text in a colour, for a cell of a table.
type painted struct {
	text string
	hue  hue
}

// paint colours text where colours are wanted.
func (a *app) paint(h hue, text string) string {
	if h == plain || text == "" || !a.screen.terminal || a.noColor || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return text
	}
	return "\x1b[" + string(h) + "m" + text + "\x1b[0m"
}
