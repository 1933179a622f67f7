package frame

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/slotmq/go-rmq/internal/text/columns"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

// Page is what one call prints on.
type Page struct {
	Name string // of the program
	In   io.Reader
	Out  *bufio.Writer
	Errs io.Writer
	Contents
	Missed

	JSON    bool // one object a line, instead of text
	Wide    bool // nothing is shortened
	NoColor bool

	broken error // why Out takes no more JSON

	Screen Screen // that Out is shown on
	Status Screen // that Errs is shown on
}

func newPage(name string, stdin io.Reader, stdout, stderr io.Writer) *Page {
	return &Page{Name: name, In: stdin, Out: bufio.NewWriter(stdout), Errs: stderr, Screen: screenOf(stdout), Status: screenOf(stderr)}
}

// Flush writes what was printed so far.
func (p *Page) Flush() error {
	if err := p.Out.Flush(); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// Say prints a line, or several if it is too long for the screen.
func (p *Page) Say(format string, args ...any) {
	for _, line := range columns.Wrap(fmt.Sprintf(format, args...), p.Width()) {
		fmt.Fprintln(p.Out, line)
	}
}

// Answer prints v as JSON, or says the rest.
func (p *Page) Answer(v any, format string, args ...any) error {
	if p.JSON {
		return p.Object(v)
	}
	p.Say(format, args...)
	return nil
}

// Title prints the content that the lines below are about, and where it is. It is not wrapped, which would lose its spaces.
func (p *Page) Title(content string, slot int, topic, rest string) {
	where := fmt.Sprintf(" in slot %d of %s%s", slot, columns.Shorten(words.Legible(topic), max(p.Width()/2, 20)), rest)
	content = columns.Shorten(p.Text(content), max(p.Width()-columns.Of(where), 20))
	fmt.Fprintln(p.Out, p.Paint(Bold, content)+where)
}

// Indent is that of what is said of a message, with its label.
const Indent = 16

// Detail prints a text behind a label, with its further lines below its first.
func (p *Page) Detail(label string, indent int, text string) {
	for i, line := range columns.Wrap(text, max(p.Width()-indent, 20)) {
		if i > 0 {
			label = ""
		}
		fmt.Fprintln(p.Out, strings.TrimRight(fmt.Sprintf("%-*s%s", indent, label, line), " "))
	}
}

// Screen is what text is shown on.
type Screen struct {
	Terminal bool
	Width    int // in columns
}

// screenOf is the terminal behind w, or a page of 80 columns.
func screenOf(w io.Writer) Screen {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			if width < 1 { // it does not know
				width = 80
			}
			return Screen{Terminal: true, Width: max(width, 40)}
		}
	}
	return Screen{Width: 80}
}

// Width is how long lines of text may be; a number that nothing exceeds with --wide.
func (p *Page) Width() int {
	if p.Wide {
		return 1 << 30
	}
	return p.Screen.Width
}

// Hue is a colour of a terminal.
type Hue string

const (
	plain Hue = ""
	faint Hue = "2"

	Red    Hue = "31"
	Green  Hue = "32"
	Yellow Hue = "33"
	Bold   Hue = "1"
)

// Painted is text in a colour, for a cell of a table.
type Painted struct {
	Text string
	Hue  Hue
}

// Of is text in this colour.
func (h Hue) Of(text string) Painted { return Painted{text, h} }

// Paint colours text where colours are wanted.
func (p *Page) Paint(h Hue, text string) string {
	if h == plain || text == "" || !p.Screen.Terminal || p.NoColor || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return text
	}
	return "\x1b[" + string(h) + "m" + text + "\x1b[0m"
}

// Contents are those of messages, as they are given and shown.
type Contents struct {
	Base64 bool // in both ways
}

// ReadContent reads a CONTENT from the command line.
func (s *Contents) ReadContent(arg string) (string, error) {
	if !s.Base64 {
		return arg, nil
	}
	content, err := base64.StdEncoding.DecodeString(arg)
	if err != nil {
		return "", Misused("with --base64 contents are base64, and %s is not: %w", strconv.Quote(columns.Shorten(arg, 40)), err)
	}
	return string(content), nil
}

// Text is a content as it is shown to people.
func (s *Contents) Text(content string) string {
	if s.Base64 {
		return base64.StdEncoding.EncodeToString([]byte(content))
	}
	return words.Legible(content)
}

// Brief is a content as a sentence has it.
func (s *Contents) Brief(content string) string { return columns.Shorten(s.Text(content), 60) }

// Shown is a content in JSON. With --base64 it is base64 in any case.
func (s *Contents) Shown(content string) wire.Shown { return wire.Show(content, s.Base64) }

// Moment is a time as the clock on the wall here shows it.
func Moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000") }
