// Package transcript keeps what a document shows of programs equal to what they print.
package transcript

import (
	"os"
	"strings"
	"testing"
)

// Check fails unless what was played stands in a document between the marks of that name. With update it
// is written there; again is the command that does so.
func Check(t testing.TB, file, name, played string, update bool, again string) {
	t.Helper()
	document, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- transcript:"+name+" -->\n", "<!-- /transcript:"+name+" -->\n"
	before, rest, found := strings.Cut(string(document), begin)
	documented, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no %q and %q", file, begin, end)
	}
	if documented == played {
		return
	}
	if update {
		if err := os.WriteFile(file, []byte(before+begin+played+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	was, is := strings.Split(documented, "\n"), strings.Split(played, "\n")
	n := 0
	for n < min(len(was), len(is))-1 && was[n] == is[n] {
		n++
	}
	t.Errorf("%s is not what happens, from line %d of the transcript on\n  documented: %q\n  happened:   %q\n"+
		"If the change is meant, run: %s", file, n+1, was[n], is[n], again)
}
