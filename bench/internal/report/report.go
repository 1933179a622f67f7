// Package report prints what the benchmark measured, as Markdown that can be read
// in a terminal as well, and its progress meanwhile.
package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Report writes tables, and at its end one line of named results.
type Report struct {
	out     io.Writer
	first   io.Writer
	results map[string]string
}

// New returns a report that is written to out.
func New(out io.Writer) *Report { return &Report{out: out, first: out, results: map[string]string{}} }

// Copy has what follows written to another place, too, and no more to the one before; nil is none.
func (r *Report) Copy(to io.Writer) {
	r.out = r.first
	if to != nil {
		r.out = io.MultiWriter(r.first, to)
	}
}

// Title begins the report.
func (r *Report) Title(text string) { fmt.Fprintf(r.out, "# %s\n", text) }

// Section begins a part of it.
func (r *Report) Section(title string) { fmt.Fprintf(r.out, "\n## %s\n", title) }

// Text writes a paragraph, in lines of about 130 characters.
func (r *Report) Text(format string, args ...any) {
	fmt.Fprintln(r.out)
	line := ""
	for _, word := range strings.Fields(fmt.Sprintf(format, args...)) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > 130 {
			fmt.Fprintln(r.out, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	fmt.Fprintln(r.out, line)
}

// Table writes a table, whose first column names the rows.
func (r *Report) Table(header []string, rows [][]string) {
	widths := make([]int, len(header))
	for _, row := range append([][]string{header}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 2)
		}
	}
	line := func(row []string) {
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				fmt.Fprintf(r.out, "| %s%s |", cell, pad)
			} else {
				fmt.Fprintf(r.out, " %s%s |", pad, cell)
			}
		}
		fmt.Fprintln(r.out)
	}
	fmt.Fprintln(r.out)
	line(header)
	for i, width := range widths {
		if i == 0 {
			fmt.Fprintf(r.out, "|%s|", strings.Repeat("-", width+2))
		} else {
			fmt.Fprintf(r.out, "%s:|", strings.Repeat("-", width+1))
		}
	}
	fmt.Fprintln(r.out)
	for _, row := range rows {
		line(row)
	}
}

// Result notes a figure for the last line.
func (r *Report) Result(name, format string, value float64) {
	r.results[name] = fmt.Sprintf(format, value)
}

// Results writes the last line: the figures of these names, in this order. What
// was not measured is "-".
func (r *Report) Results(names ...string) {
	fmt.Fprint(r.out, "\nRESULT")
	for _, name := range names {
		value := r.results[name]
		if value == "" {
			value = "-"
		}
		fmt.Fprintf(r.out, " %s=%s", name, value)
	}
	fmt.Fprintln(r.out)
}

// Count writes a large number with commas: 316,000.
func Count(n float64) string {
	text := fmt.Sprintf("%.0f", n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Round is Count of the three leading digits, for figures that move between runs.
func Round(n float64) string {
	unit := 1.0
	for n/unit >= 1000 {
		unit *= 10
	}
	return Count(float64(int64(n/unit+0.5)) * unit)
}
