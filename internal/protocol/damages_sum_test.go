package protocol_test

import (
	"crypto/sha256"
	"fmt"
	"go/scanner"
	"go/token"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
)

// testdata/damages.sum names, of each script, the state of which all damages were noticed. A state is
// all that a damage's being noticed rests on: the script, its damages, and who has to notice them.

const sumFile = "testdata/damages.sum"

// sumsAgain says how to write the file.
const sumsAgain = "go test ./internal/protocol -run 'TestDamages$' -update"

// stateOf is the state of a script: its source, its damages, and the tests that are named in them. Where
// comments and spaces of a test are is no matter.
func stateOf(source string, damages []damage, tests map[string]string) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q\n", source)
	named := map[string]bool{}
	for _, d := range damages {
		fmt.Fprintf(sum, "%q\n", d)
		named[d.noticed] = true
	}
	for _, file := range slices.Sorted(maps.Keys(tests)) {
		if text := tests[file]; concerns(file, text, named) {
			fmt.Fprintf(sum, "%s\n", tokensOf(text))
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// concerns tells if a file of tests holds a trial that is named, or a part of the driver if that is, or
// the world of all of them.
func concerns(file, text string, named map[string]bool) bool {
	switch {
	case file == "world_test.go":
		return true
	case strings.HasPrefix(file, "damage"): // which name them
		return false
	case strings.HasPrefix(file, "drive") || strings.HasPrefix(file, "spec_") || file == "ledger_test.go":
		return named[driven]
	}
	for name := range named {
		if strings.Contains(text, fmt.Sprintf("name: %q", name)) {
			return true
		}
	}
	return false
}

// tokensOf is Go code without its comments, and with one space at most wherever it has any.
func tokensOf(code string) string {
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile("", files.Base(), len(code)), []byte(code), nil, 0)
	var b strings.Builder
	for {
		_, tok, text := s.Scan()
		if tok == token.EOF {
			return b.String()
		}
		if text == "\n" { // a line's end, which is a semicolon
			text = ";"
		}
		fmt.Fprintf(&b, "%v %s ", tok, text)
	}
}

// testFiles are the tests of this package, by the name of their file.
func testFiles(t testing.TB) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	tests := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must.Do(t, err)
		tests[file] = string(text)
	}
	return tests
}

// statesOf are the present states of all scripts.
func statesOf(t testing.TB) map[string]string {
	t.Helper()
	states, tests := map[string]string{}, testFiles(t)
	for script, damages := range damagesOf {
		states[script] = stateOf(sources[script], damages, tests)
	}
	return states
}

// readSums reads a file of states; one that is not there has none.
func readSums(t testing.TB, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		script, state, found := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !found || sums[script] != "" {
			t.Fatalf("%s: %q", file, line)
		}
		sums[script] = state
	}
	return sums
}

func writeSums(t testing.TB, file string, sums map[string]string) {
	t.Helper()
	var b strings.Builder
	for _, script := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&b, "%s %s\n", script, sums[script])
	}
	must.Do(t, os.WriteFile(file, []byte(b.String()), 0o644))
}

// drawDamages are those of a script that are to run: all of a state that is not known, and by night; else
// a tenth, rounded up.
func drawDamages(damages []damage, known, night bool, random *rand.Rand) []damage {
	if !known || night {
		return damages
	}
	drawn := slices.Clone(damages)
	random.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	return drawn[:(len(drawn)+9)/10]
}

// settle fails as long as the file is not about the present states. With update it is written, but only
// of those of which all damages were noticed now.
func settle(t testing.TB, file string, known, states map[string]string, noticed *tally, update bool) {
	t.Helper()
	if maps.Equal(known, states) {
		return
	}
	sums := map[string]string{}
	var another, missed []string
	for _, script := range slices.Sorted(maps.Keys(states)) {
		switch n := noticed.of[script]; {
		case known[script] == states[script]:
			sums[script] = states[script]
		case n == len(damagesOf[script]):
			sums[script] = states[script]
			another = append(another, script)
		default:
			missed = append(missed, fmt.Sprintf("%s (%d of %d)", script, n, len(damagesOf[script])))
			if known[script] != "" {
				sums[script] = known[script]
			}
		}
	}
	if update {
		writeSums(t, file, sums)
	}
	switch {
	case len(missed) > 0:
		t.Errorf("these scripts, their damages, or the tests of them have changed, and not all damages were noticed: %s", strings.Join(missed, ", "))
	case !update && len(another) > 0:
		t.Errorf("all damages were noticed of what has changed, %s. Say so: %s", strings.Join(another, ", "), sumsAgain)
	case !update:
		t.Errorf("%s names scripts that are not there. Write it again: %s", file, sumsAgain)
	}
}
