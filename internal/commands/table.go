package commands

import (
	"fmt"
	"strings"

	"github.com/slotmq/go-rmq/internal/columns"
)

// table prints rows in columns that fit the screen: if they do not, text is shortened, the
// last column first. Numbers are never shortened.
type table struct {
	a       *app
	titles  []string
	numbers []bool
	widths  []int
	rows    [][]painted
	bytes   int  // of their texts
	begun   bool // the titles are printed
}

// Rows are aligned and printed in groups of so many rows or bytes, so lists of any length
// begin at once and take little memory.
const (
	pageful      = 200
	pagefulBytes = 1 << 20
)

// table begins one. A # at the end of a title is not shown, and makes a column of numbers.
func (a *app) table(titles ...string) *table {
	t := &table{a: a, widths: make([]int, len(titles))}
	for _, title := range titles {
		name, number := strings.CutSuffix(title, "#")
		t.titles, t.numbers = append(t.titles, strings.ToUpper(name)), append(t.numbers, number)
	}
	return t
}

// row adds a row of texts, painted texts and numbers.
func (t *table) row(cells ...any) {
	row := make([]painted, len(t.titles))
	for i, c := range cells {
		if p, ok := c.(painted); ok {
			row[i] = p
		} else {
			row[i] = painted{text: fmt.Sprint(c)}
		}
		if !t.numbers[i] { // a content may be very long, and no more of it can be shown
			row[i].text = strings.Clone(columns.Shorten(row[i].text, t.a.width()))
		}
		t.bytes += len(row[i].text)
	}
	t.rows = append(t.rows, row)
	if len(t.rows) >= pageful || t.bytes >= pagefulBytes {
		t.print()
	}
}

// end prints what is left.
func (t *table) end() error {
	t.print()
	return nil // flush returns the error of a write
}

func (t *table) print() {
	if len(t.rows) == 0 {
		return
	}
	if !t.begun {
		t.begun = true
		titles := make([]painted, len(t.titles))
		for i, title := range t.titles {
			titles[i] = painted{title, faint}
		}
		t.rows = append([][]painted{titles}, t.rows...)
	}
	for _, row := range t.rows {
		for i, c := range row {
			t.widths[i] = max(t.widths[i], columns.Of(c.text))
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
func (t *table) fit() {
	total := gap * (len(t.widths) - 1)
	for _, w := range t.widths {
		total += w
	}
	for ; total > t.a.width(); total-- {
		narrow := t.narrowest()
		if narrow < 0 {
			return // numbers alone are too wide
		}
		t.widths[narrow]--
	}
}

// narrowest is the column to be narrowed next: the last of text, and when that is
// narrow, the widest; -1 if there is none.
func (t *table) narrowest() int {
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

func (t *table) line(row []painted) {
	var line strings.Builder
	space := 0 // what follows is this far away; none is printed at the end of a line
	for i, c := range row {
		text := c.text
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
			line.WriteString(t.a.paint(c.hue, text))
			space = 0
		} else {
			pad += columns.Of(text)
		}
		space += pad + gap
	}
	fmt.Fprintln(t.a.out, line.String())
}
