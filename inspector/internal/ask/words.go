package ask

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Enough shows the first of a list that may be long.
func Enough(list []string, separator string) string {
	const most = 5
	text := strings.Join(list[:min(most, len(list))], separator)
	if rest := len(list) - most; rest > 0 {
		text += fmt.Sprintf("%sand %d more", separator, rest)
	}
	return text
}

// OneLine is an error in one line.
func OneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// Plural is a number with its noun. Its digits are not grouped, as those of words.Count: programs read WaitsFor.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Later is the later of two moments.
func Later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// NotesPage is about how many notes are read at once. It is small: nobody knows how long their
// contents are.
const NotesPage = 10
