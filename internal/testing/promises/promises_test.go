package promises

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// watched is a test whose failure is seen.
type watched struct {
	testing.TB
	says []string
}

func (w *watched) Errorf(format string, args ...any) {
	w.says = append(w.says, fmt.Sprintf(format, args...))
}

func TestWhatIsNoticed(t *testing.T) {
	t.Parallel()
	const owed = 50 * time.Millisecond
	for _, c := range []struct {
		text, phrase  string
		literal, does any
		noticed       bool
	}{
		{"are owed\nfor 50 ms, at most", "owed for 50 ms", 50 * time.Millisecond, owed, false},
		{"are owed for 60 ms, at most", "owed for 50 ms", 50 * time.Millisecond, owed, true},                         // the document was changed
		{"are owed for 60 ms, at most", "owed for 60 ms", 50 * time.Millisecond, owed, true},                         // the phrase with it
		{"are owed for 50 ms, at most", "owed for 50 ms", 50 * time.Millisecond, time.Hour, true},                    // the code was changed
		{"are owed for 50 ms, at most", "owed for 50 ms", time.Hour, time.Hour, true},                                // the literal with it
		{"50 ms, and 50 ms", "50 ms", 50 * time.Millisecond, owed, true},                                             // which of the two?
		{"50 ms\n```\n50 ms\n```\n", "50 ms", 50 * time.Millisecond, owed, false},                                    // code is an example
		{"50 ms to 5 s", "50 ms to 5 s", 50 * time.Millisecond, owed, true},                                          // the other number would be taken for compared
		{"up to 16 retries", "up to 16 retries", 16, int64(16), false},                                               // another type
		{"up to 16 retries", "up to 16 retries", 16, 16.5, true},                                                     // not the same
		{"the prefix `rmq:`", "the prefix `rmq:`", "rmq:", "rmq:", false}, {"a `rmq:`", "a `rmq:`", "rmq:", 1, true}, // a text
	} {
		w := &watched{TB: t}
		if (&Document{t: w, name: "docs/a.md", text: Prose(c.text)}).Says(c.phrase, c.literal, c.does); (w.says != nil) != c.noticed {
			t.Errorf("%q, %q, %v, %v: %q", c.text, c.phrase, c.literal, c.does, w.says)
		}
	}
}

func TestDocumentsAreFound(t *testing.T) {
	t.Parallel()
	if d := Of(t, "docs/PROTOCOL.md"); len(d.text) < 50_000 {
		t.Errorf("the text has %d bytes", len(d.text))
	}
}

func TestWritings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		phrase string
		value  any
	}{
		{"50 ms", 50 * time.Millisecond}, {"a slice of 0.1 s, and", 100 * time.Millisecond}, {"22.5 ms", 22500 * time.Microsecond}, {"within 60 s.", time.Minute},
		{"a minute", time.Minute}, {"and again every second", time.Second}, {"once a day", 24 * time.Hour}, {"about 11 minutes where", 11 * time.Minute},
		{"two seconds", 2 * time.Second}, {"half a minute", 30 * time.Second}, {"the last half hour", 30 * time.Minute}, {"1 hour", time.Hour}, {"4 seconds", 4 * time.Second}, {"7 days", 7 * 24 * time.Hour},
		{"| 1,000 |", 1000}, {"20,000 at", 20_000}, {"10^12", 1_000_000_000_000}, {"1 MiB", 1 << 20}, {"256 KiB is", 256 << 10}, {"2^53 − 1", 1<<53 - 1}, {"eight times", 8},
		{"above 16.", 16}, {"5 %", 0.05}, {"100 ppm", 1e-4}, {"at most a quarter", 0.25}, {"0.01 to 100", 0.01}, {"0.01 to 100", 100.}, {"2/3", 2. / 3},
	} {
		if !writes(c.phrase, c.value) {
			t.Errorf("%v is not found in %q, only %q", c.value, c.phrase, writings(c.value))
		}
	}
	for _, c := range []struct {
		phrase string
		value  any
	}{
		{"150 ms", 50 * time.Millisecond}, {"0.1 s", time.Second}, {"10 s", time.Second}, {"1,000", 1}, {"1,000", 0}, {"116", 16}, {"1.5 s", 5 * time.Second}, {"a minute", time.Second},
		{"1 MiB", 1}, {"17", 16},
	} {
		if writes(c.phrase, c.value) && c.phrase != "1 MiB" { // a count may be followed by any noun
			t.Errorf("%v is found in %q", c.value, c.phrase)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	text := "for 50 ms, 1 MiB, half an hour; 1,000 s 22.5 ms (5 %) **2 s** a minute, ten minutes, 16 retries, a second one, 10^12 ms, x.5 s, 3 sizes, `30 s`"
	want := []string{"50 ms", "1 MiB", "half an hour", "1,000 s", "22.5 ms", "5 %", "2 s", "a minute", "ten minutes", "30 s"}
	if has := Numbers(text); !slices.Equal(has, want) {
		t.Errorf("%q", has)
	}
}
