// Package promises compares a number that a document promises with what the code does. Each is
// a line of promises_test.go in the package that keeps it:
//
//	protocol := promises.Of(t, "docs/PROTOCOL.md")
//	protocol.Says("are owed for 50 ms beside the burst", 50*time.Millisecond, mostOwed())
//
// The phrase stands once in the document. The literal stands in the phrase, and nowhere else in
// the tests; it is what the code does. What the code *does* is better than the constant that it
// has, which could be right and not be used. The test of package layers reads these lines, too,
// and says which number of a document has none.
package promises

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// Document is one whose promises a test compares.
type Document struct {
	t          testing.TB
	name, text string
}

// Of reads a document, which is named from the root of the repository.
func Of(t testing.TB, name string) *Document {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		b, missing := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if missing == nil {
			return &Document{t: t, name: name, text: Prose(string(b))}
		}
		if dir == filepath.Dir(dir) {
			err = missing
		}
	}
	t.Fatal(err)
	return nil
}

// Says compares: the phrase of the document, the literal number in it, and what the code does.
func (d *Document) Says(phrase string, literal, does any) {
	d.t.Helper()
	switch n := strings.Count(d.text, phrase); {
	case n != 1:
		d.t.Errorf("%s says %q %d times, not once", d.name, phrase, n)
	case len(Numbers(phrase)) > 1:
		d.t.Errorf("%q has more than one number: %q", phrase, Numbers(phrase))
	case !writes(phrase, literal):
		d.t.Errorf("%s says %q, and the test %v", d.name, phrase, literal)
	}
	if !same(literal, does) {
		d.t.Errorf("%s says %q; the code: %v", d.name, phrase, does)
	}
}

// same compares values whose types may differ, as those of constants do.
func same(literal, does any) bool {
	a, b := reflect.ValueOf(literal), reflect.ValueOf(does)
	if a.Kind() == reflect.String || b.Kind() == reflect.String || !b.CanConvert(a.Type()) {
		return literal == does
	}
	return b.Convert(a.Type()).Equal(a) && a.Convert(b.Type()).Equal(b)
}

// Prose is a document without its blocks of code, each run of blanks and ends of lines as one blank.
func Prose(text string) string {
	var kept []string
	code := false
	for line := range strings.Lines(text) {
		fence := strings.HasPrefix(line, "```")
		if !code && !fence {
			kept = append(kept, strings.Fields(line)...)
		}
		code = code != fence
	}
	return strings.Join(kept, " ")
}

// number is one with a unit: 50 ms, 1 MiB, 5 %, a minute, half an hour, four times a minute. "A second"
// is none, since it is nearly always the second of something.
var number = regexp.MustCompile(`(?:^|[^\w.,:/^-])(` +
	`\d[\d,]*(?:\.\d+)? (?:µs|ms|s|min|h|seconds?|minutes?|hours?|days?|weeks?|bytes|KB|KiB|MB|MiB|GB|GiB|%)` +
	`|(?:(?:half )?an?|one|two|three|four|five|six|eight|ten|twenty) (?:minute|hour|day|week)s?` +
	`|(?:two|three|four|five|six|eight|ten|twenty) seconds` +
	`)(?:$|[^\w])`)

// Numbers are those with a unit in a text, each with where it begins and ends.
func Numbers(text string) []string {
	var all []string
	for _, at := range NumbersAt(text) {
		all = append(all, text[at[0]:at[1]])
	}
	return all
}

// NumbersAt is where they begin and end.
func NumbersAt(text string) [][2]int {
	var all [][2]int
	for from := 0; ; {
		m := number.FindStringSubmatchIndex(text[from:])
		if m == nil {
			return all
		}
		all = append(all, [2]int{from + m[2], from + m[3]})
		from += m[3]
	}
}
