package frame

import (
	"fmt"
	"strings"

	"github.com/slotmq/go-rmq/internal/text/columns"
)

// Table prints rows in columns that fit the screen: if they do not, text is shortened, the
// last column first. Numbers are never shortened.
type Table struct {
	page    *Page
	titles  []string
	numbers []bool
	widths  []int
	rows    [][]Painted
	bytes   int  // of their texts
	begun   bool // the titles are printed
}

// Rows are aligned and printed in groups of so many rows or bytes, so lists of any length
// begin at once and take little memory.
const (
	pageful      = 200
	pagefulBytes = 1 << 20
)

// Table begins one. A # at the end of a title is not shown, and makes a column of numbers.
func (p *Page) Table(titles ...string) *Table {
	t := &Table{page: p, widths: make([]int, len(titles))}
	for _, title := range titles {
		name, number := strings.CutSuffix(title, "#")
		t.titles, t.numbers = append(t.titles, strings.ToUpper(name)), append(t.numbers, number)
	}
	return t
}

// Row adds a row of texts, painted texts and numbers.
func (t *Table) Row(cells ...any) {
	row := make([]Painted, len(t.titles))
	for i, c := range cells {
		if p, ok := c.(Painted); ok {
			row[i] = p
		} else {
			row[i] = Painted{Text: fmt.Sprint(c)}
		}
		if !t.numbers[i] { // a content may be very long, and no more of it can be shown
			row[i].Text = strings.Clone(columns.Shorten(row[i].Text, t.page.Width()))
		}
		t.bytes += len(row[i].Text)
	}
	t.rows = append(t.rows, row)
	if len(t.rows) >= pageful || t.bytes >= pagefulBytes {
		t.print()
	}
}

// End prints what is left.
func (t *Table) End() { t.print() }

func (t *Table) print() {
	if len(t.rows) == 0 {
		return
	}
	if !t.begun {
		t.begun = true
		titles := make([]Painted, len(t.titles))
		for i, title := range t.titles {
			titles[i] = Painted{title, faint}
		}
		t.rows = append([][]Painted{titles}, t.rows...)
	}
	for _, row := range t.rows {
		for i, c := range row {
			t.widths[i] = max(t.widths[i], columns.Of(c.Text))
		}
	}
	t.fit()
	for _, row := range t.rows {
		t.line(row)
	}
	t.rows, t.bytes = nil, 0
}

const (
	gap   = 2  // between columns
	least = 12 // what text is not shortened below while others are wider
)

// fit narrows columns of text until a line fits the screen.
func (t *Table) fit() {
	total := gap * (len(t.widths) - 1)
	for _, w := range t.widths {
		total += w
	}
	for ; total > t.page.Width(); total-- {
		narrow := t.narrowest()
		if narrow < 0 {
			return // numbers alone are too wide
		}
		t.widths[narrow]--
	}
}

// narrowest is the column to be narrowed next: the last of text, and when that is
// narrow, the widest; -1 if there is none.
func (t *Table) narrowest() int {
	widest := -1
	for i := len(t.widths) - 1; i >= 0; i-- {
		if t.numbers[i] || t.widths[i] <= 4 {
			continue
		}
		if widest < 0 && t.widths[i] > 2*least {
			return i
		}
		if widest < 0 || t.widths[i] > t.widths[widest] {
			widest = i
		}
	}
	return widest
}

func (t *Table) line(row []Painted) {
	var line strings.Builder
	space := 0 // what follows is this far away; none is printed at the end of a line
	for i, c := range row {
		text := c.Text
		if !t.numbers[i] {
			text = columns.Shorten(text, t.widths[i])
		}
		pad := max(0, t.widths[i]-columns.Of(text))
		if t.numbers[i] {
			space += pad
			pad = 0
		}
		if text != "" {
			line.WriteString(strings.Repeat(" ", space))
			line.WriteString(t.page.Paint(c.Hue, text))
			space = 0
		} else {
			pad += columns.Of(text)
		}
		space += pad + gap
	}
	fmt.Fprintln(t.page.Out, line.String())
}

// Notes ends a table and says something about it below. JSON needs none.
func (t *Table) Notes(notes []string) {
	t.print()
	if t.page.JSON || len(notes) == 0 {
		return
	}
	fmt.Fprintln(t.page.Out)
	for _, n := range notes {
		t.page.Say("%s", n)
	}
}
