package layers

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"iter"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// servers is the one package that may skip a test: where servers are not required
// and one is missing. With RMQ_REQUIRE_SERVERS=1 it fails instead, and so nothing
// is skipped at all.
const servers = "internal/testing/servertest"

// machinePath finds paths that exist on one machine only. Inside a URL or a longer
// path the same letters mean something else.
var machinePath = regexp.MustCompile(`(?:^|[^\w./-])/(?:work|root)/`)

// tags are the build constraints a file may have. Any other one would take tests
// out of the run without a word.
var tags = []string{"race", "linux", "unix", "windows", "darwin"}

// badHabits tells everything in one file that breaks a rule.
func badHabits(f file) []string {
	var bad []string
	add := func(format string, args ...any) { bad = append(bad, f.path+": "+fmt.Sprintf(format, args...)) }

	for n, line := range strings.Split(f.text, "\n") {
		if machinePath.MatchString(line) {
			add("line %d names a path of one machine", n+1)
		}
	}
	if !f.goFile() {
		return bad
	}
	_, heart := below[f.top()]
	for call := range calls(f.code) {
		switch {
		case call == "time.Sleep" && f.test():
			add("time.Sleep in a test: wait for a signal or move the clock")
		case strings.HasPrefix(call, "fmt.Print") && heart && !f.test():
			add("%s in a library", call)
		case isSkip(call) && !within(f.path, servers):
			add("%s: no test is skipped", call)
		}
	}
	for _, tag := range constraints(f.code) {
		if !slices.Contains(tags, tag) {
			add("build constraint %q: nobody sets it, so the file is never tested", tag)
		}
	}
	return bad
}

// isSkip tells t.Skip and its kin, whatever the test is called.
func isSkip(call string) bool {
	_, method, _ := strings.Cut(call, ".")
	return method == "Skip" || method == "Skipf" || method == "SkipNow"
}

// calls yields what the file mentions of packages and variables, as "name.Member".
// A mention without a call counts, too: sleep := time.Sleep hides nothing.
func calls(code *ast.File) iter.Seq[string] {
	return func(yield func(string) bool) {
		going := true
		ast.Inspect(code, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && going {
				x := "_" // any expression, like a field: b.t.Skip
				if id, ok := sel.X.(*ast.Ident); ok {
					x = id.Name
				}
				going = yield(x + "." + sel.Sel.Name)
			}
			return going
		})
	}
}

// constraints are the tags named in the file's //go:build line.
func constraints(code *ast.File) []string {
	var names []string
	for _, group := range code.Comments {
		for _, c := range group.List {
			if expr, err := constraint.Parse(c.Text); err == nil && c.Pos() < code.Package {
				expr.Eval(func(tag string) bool { names = append(names, tag); return true }) // asks for every tag
			}
		}
	}
	return names
}

func TestHabits(t *testing.T) {
	t.Parallel()
	files := repository(t)
	if !slices.ContainsFunc(files, func(f file) bool { return f.path == "internal/testing/layers/habits_test.go" }) {
		t.Fatal("the tree was not read") // a check of nothing finds nothing
	}
	for _, f := range files {
		for _, b := range badHabits(f) {
			t.Error(b)
		}
	}
}

func TestBadHabitsAreFound(t *testing.T) {
	t.Parallel()
	here, home := "/wo"+"rk/", "/ro"+"ot/" // in two parts, or this file would break the rule
	for _, c := range []struct{ path, text string }{
		{"README.md", "see " + here + "notes"},
		{"test.sh", "cd " + home},
		{".ci/run", here},
		{"slots/a_test.go", "package slots\nvar dir = `" + here + "x`"},
		{"slots/a_test.go", "package slots\nimport \"time\"\nfunc f() { time.Sleep(1) }"},
		{"slots/a_test.go", "package slots\nimport \"time\"\nvar nap = time.Sleep"},
		{"bench/a_test.go", "package bench\nimport \"time\"\nfunc f() { time.Sleep(1) }"},
		{"slots/a.go", "package slots\nimport \"fmt\"\nfunc f() { fmt.Println() }"},
		{"consumer/a.go", "package consumer\nimport \"fmt\"\nfunc f() { fmt.Printf(`x`) }"},
		{"slots/a_test.go", "package slots\nfunc f(t *testing.T) { t.Skip() }"},
		{"slots/a_test.go", "package slots\nfunc f(tb testing.TB) { tb.Skipf(`x`) }"},
		{"slots/a_test.go", "package slots\nfunc f(s suite) { s.t.SkipNow() }"},
		{"rmqtest/a.go", "package rmqtest\nfunc f(t *testing.T) { t.Skip() }"},
		{"slots/a_test.go", "//go:build integration\n\npackage slots"},
		{"slots/a_test.go", "//go:build linux && !quick\n\npackage slots"},
	} {
		if badHabits(source(t, c.path, c.text)) == nil {
			t.Errorf("%s may contain %.80q", c.path, c.text)
		}
	}
}

func TestGoodHabitsPass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ path, text string }{
		{"docs/DESIGN.md", "https://example.org/work/ and a/root/b"},
		{"slots/a.go", "package slots\nimport (\"fmt\"; \"time\")\nfunc f() string { time.Sleep(1); return fmt.Sprint() }"},
		{"examples/quickstart/main.go", "package main\nimport \"fmt\"\nfunc main() { fmt.Println() }"},
		{"rmq/example_test.go", "package rmq\nimport \"fmt\"\nfunc Example() { fmt.Println() }"},
		{servers + "/a.go", "package servertest\nfunc f(t *testing.T) { t.Skip() }"},
		{"slots/race_test.go", "//go:build !race\n\npackage slots\n\n// an example: //go:build nothing"},
	} {
		for _, b := range badHabits(source(t, c.path, c.text)) {
			t.Error(b)
		}
	}
}
