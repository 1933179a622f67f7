package commands

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/columns"
	"github.com/slotmq/go-rmq/internal/words"
)

// content reads a CONTENT from the command line.
func (a *app) content(arg string) (string, error) {
	if !a.base64 {
		return arg, nil
	}
	content, err := base64.StdEncoding.DecodeString(arg)
	if err != nil {
		return "", misused("with --base64 contents are base64, and %s is not: %w", strconv.Quote(columns.Shorten(arg, 40)), err)
	}
	return string(content), nil
}

// text is a content as it is shown to people.
func (a *app) text(content string) string {
	if a.base64 {
		return base64.StdEncoding.EncodeToString([]byte(content))
	}
	return words.Legible(content)
}

// say prints a line, or several if it is too long for the screen.
func (a *app) say(format string, args ...any) {
	for _, line := range columns.Wrap(fmt.Sprintf(format, args...), a.width()) {
		fmt.Fprintln(a.out, line)
	}
}

// detail prints a text behind a label, with its further lines below its first.
func (a *app) detail(label string, indent int, text string) {
	for i, line := range columns.Wrap(text, max(a.width()-indent, 20)) {
		if i > 0 {
			label = ""
		}
		fmt.Fprintln(a.out, strings.TrimRight(fmt.Sprintf("%-*s%s", indent, label, line), " "))
	}
}

// moment is a time as the clock on the wall here shows it.
func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000") }
