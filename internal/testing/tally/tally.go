package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

const (
	ours    = "github.com/slotmq/go-rmq" // is left out of names
	slowest = 10                         // tests named at the end
)

// event is a line of `go test -json`: see `go doc test2json`, and, for those of a build,
// `go help buildjson`.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// took is how long something took.
type took struct {
	name    string
	seconds float64
}

// tally is what is known of a run so far.
type tally struct {
	out io.Writer

	said            map[string]map[string]*strings.Builder // package, test: output of what has not ended
	packages, tests []took
	parents         map[string]bool // names of tests that have others
	ran             map[string]int  // top-level tests of a package
	failedTests     []string
	passed, skipped int
	failed          int // top-level tests and packages that failed by themselves
}

func newTally(out io.Writer) *tally {
	return &tally{out: out, said: map[string]map[string]*strings.Builder{}, parents: map[string]bool{}, ran: map[string]int{}}
}

// read takes the next line. One that is no event is printed as it is.
func (t *tally) read(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil {
		t.out.Write(line)
		return
	}
	switch e.Action {
	case "build-output":
		fmt.Fprint(t.out, e.Output)
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") { // which test begins and goes on
			t.output(e).WriteString(e.Output)
		}
	case "pass", "fail", "skip":
		if e.Test == "" {
			t.endPackage(e)
		} else {
			t.endTest(e)
		}
	}
}

// output is where the output of a test, or of a package, is kept until that ends.
func (t *tally) output(e event) *strings.Builder {
	of := t.said[e.Package]
	if of == nil {
		of = map[string]*strings.Builder{}
		t.said[e.Package] = of
	}
	if of[e.Test] == nil {
		of[e.Test] = &strings.Builder{}
	}
	return of[e.Test]
}

func (t *tally) endTest(e event) {
	said := t.output(e).String()
	delete(t.said[e.Package], e.Test)
	name := short(e.Package) + " " + e.Test
	if e.Action == "fail" {
		fmt.Fprint(t.out, said)
	}
	t.tests = append(t.tests, took{name, e.Elapsed})
	if parent := strings.LastIndex(name, "/"); strings.Contains(e.Test, "/") {
		t.parents[name[:parent]] = true
		return
	}
	t.ran[e.Package]++
	switch e.Action {
	case "pass":
		t.passed++
	case "skip":
		t.skipped++
		fmt.Fprintf(t.out, "SKIPPED %s\n%s", name, said)
	case "fail":
		t.failed++
		t.failedTests = append(t.failedTests, name)
	}
}

// endPackage tells of a package. When it failed, what its tests that never ended said is
// told, too: one of them has panicked, or run out of time.
func (t *tally) endPackage(e event) {
	said := t.said[e.Package]
	delete(t.said, e.Package)
	if e.Action == "skip" { // it has no tests
		return
	}
	word := "ok  "
	if e.Action == "fail" {
		word = "FAIL"
		failed := slices.ContainsFunc(t.failedTests, func(name string) bool { return strings.HasPrefix(name, short(e.Package)+" ") })
		if !failed {
			t.failed++
			t.failedTests = append(t.failedTests, short(e.Package))
		}
		for _, test := range slices.Sorted(maps.Keys(said)) {
			fmt.Fprint(t.out, said[test])
		}
	}
	t.packages = append(t.packages, took{short(e.Package), e.Elapsed})
	fmt.Fprintf(t.out, "%s %7.1f s  %s (%d tests)\n", word, e.Elapsed, short(e.Package), t.ran[e.Package])
}

// end prints the sums, and says what is wrong.
func (t *tally) end() (wrong string) {
	bySeconds := func(a, b took) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), cmp.Compare(a.name, b.name))
	}
	slices.SortFunc(t.packages, bySeconds)
	slices.SortFunc(t.tests, bySeconds)
	// The time of a test that has others is theirs, or, where they are parallel, is not counted.
	t.tests = slices.DeleteFunc(t.tests, func(one took) bool { return t.parents[one.name] })
	for _, list := range []struct {
		name string
		of   []took
	}{{"packages", t.packages}, {"slowest tests", t.tests[:min(slowest, len(t.tests))]}} {
		fmt.Fprintf(t.out, "\n== %s\n", list.name)
		for _, one := range list.of {
			fmt.Fprintf(t.out, "%7.1f s  %s\n", one.seconds, one.name)
		}
	}
	if len(t.failedTests) > 0 {
		fmt.Fprintf(t.out, "\n== failed\n%s\n", strings.Join(t.failedTests, "\n"))
	}
	fmt.Fprintf(t.out, "\n%d passed, %d failed, %d skipped\n", t.passed, t.failed, t.skipped)
	switch {
	case t.failed > 0:
		return "tests have failed"
	case t.skipped > 0:
		return "tests were skipped"
	case t.passed == 0:
		return "no test ran"
	}
	return ""
}

func short(pkg string) string {
	if pkg == ours {
		return "."
	}
	return strings.TrimPrefix(pkg, ours+"/")
}
