package layers

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	testName = regexp.MustCompile("`(Test[A-Z]\\w*)`")
	testFunc = regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(`)
	link     = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`) // without a scheme: to a file
	goPath   = regexp.MustCompile("`([a-z]+/[\\w/]+\\.(?:go|lua))`")
	inScript = regexp.MustCompile(`\binternal(?:\\?/[\w.]*\w)+`) // also as a pattern of awk has it
)

// inventory is what documents may name.
type inventory struct {
	tests, paths map[string]bool
}

func inventoryOf(files []file) inventory {
	known := inventory{tests: map[string]bool{}, paths: map[string]bool{}}
	for _, f := range files {
		for p := f.path; p != "."; p = path.Dir(p) {
			known.paths[p] = true
		}
		if f.goFile() && f.test() {
			for _, m := range testFunc.FindAllStringSubmatch(f.text, -1) {
				known.tests[m[1]] = true
			}
		}
	}
	return known
}

// goBlocks are the pieces of Go code in a document.
func goBlocks(f file) []string {
	var blocks []string
	for rest := f.text; path.Ext(f.path) == ".md"; {
		var block string
		var found bool
		if _, rest, found = strings.Cut(rest, "```go\n"); !found {
			break
		}
		block, rest, _ = strings.Cut(rest, "```")
		blocks = append(blocks, block)
	}
	return blocks
}

// flat is code without its indentation.
func flat(code string) string {
	lines := strings.Split(code, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}

// flatTests is the code of all test files, without its indentation.
func flatTests(files []file) []string {
	var tests []string
	for _, f := range files {
		if f.goFile() && f.test() {
			tests = append(tests, flat(f.text))
		}
	}
	return tests
}

// madeUp are those pieces that no test runs: they stand in no test file, even
// if one looks past the indentation. Whole programs in README.md and GUIDE.md are run as
// they stand there, by TestReadme and TestServiceOfTheGuide in package examples.
func madeUp(f file, tests []string) []string {
	var wrong []string
	for _, block := range goBlocks(f) {
		if whole := strings.HasPrefix(block, "package main\n"); whole && (f.path == "README.md" || f.path == "docs/GUIDE.md") {
			continue
		}
		shown := "\n" + flat(block)
		if !slices.ContainsFunc(tests, func(test string) bool { return strings.Contains(test, shown) }) {
			wrong = append(wrong, fmt.Sprintf("%s shows Go code that stands in no test:\n%s", f.path, block))
		}
	}
	return wrong
}

// deadNames tells what a document, or a shell script, names that does not exist.
func deadNames(f file, known inventory) []string {
	dead := map[string]bool{}
	switch path.Ext(f.path) {
	case ".md":
	case ".sh":
		for _, name := range inScript.FindAllString(f.text, -1) {
			if name = strings.ReplaceAll(name, `\`, ""); !known.paths[name] {
				dead[fmt.Sprintf("%s names %s, which is not there", f.path, name)] = true
			}
		}
		return slices.Sorted(maps.Keys(dead))
	default:
		return nil
	}
	for _, m := range testName.FindAllStringSubmatch(f.text, -1) {
		if !known.tests[m[1]] {
			dead[fmt.Sprintf("%s names %s, which no test is called", f.path, m[1])] = true
		}
	}
	for _, m := range link.FindAllStringSubmatch(f.text, -1) {
		if !known.paths[path.Join(path.Dir(f.path), m[1])] {
			dead[fmt.Sprintf("%s links to %s, which is not there", f.path, m[1])] = true
		}
	}
	for _, m := range goPath.FindAllStringSubmatch(f.text, -1) {
		if !known.paths[m[1]] {
			dead[fmt.Sprintf("%s names %s, which is not there", f.path, m[1])] = true
		}
	}
	return slices.Sorted(maps.Keys(dead))
}

func TestDocumentsNameWhatExists(t *testing.T) {
	t.Parallel()
	files := repository(t)
	known := inventoryOf(files)
	if !known.tests["TestDocumentsNameWhatExists"] || !known.paths["docs/PROTOCOL.md"] {
		t.Fatal("the tree was not read") // a check of nothing finds nothing
	}
	for _, f := range files {
		for _, d := range deadNames(f, known) {
			t.Error(d)
		}
	}
}

func TestDeadNamesAreFound(t *testing.T) {
	t.Parallel()
	known := inventoryOf([]file{
		source(t, "slots/of_test.go", "package slots\n\nfunc TestOf(t *testing.T) {}\n"),
		source(t, "docs/DESIGN.md", ""),
	})
	for _, bad := range []string{"./internal/gone", `/internal\/gone( |$)/`, ". internal/gone.sh"} {
		if deadNames(source(t, "test.sh", bad), known) == nil {
			t.Errorf("a script may say %q", bad)
		}
	}
	for _, bad := range []string{"see `TestGone`", "[x](gone.go)", "[x](../slots/gone.go)", "[x](slots)", "[x](GONE.md#of)", "in `slots/gone.go`", "`a/b/gone.lua`"} {
		if deadNames(source(t, "docs/a.md", bad), known) == nil {
			t.Errorf("a document may say %q", bad)
		}
	}
	good := strings.Join([]string{"`TestOf`, Testing, `go test`, `slots/of_test.go`, `gone.go`", "[x](../slots/of_test.go)", "[x](../slots)", "[x](DESIGN.md#x)", "[x](#x)", "[x](https://example.org/y)"}, " ")
	for _, d := range deadNames(source(t, "docs/a.md", good), known) {
		t.Error(d)
	}
}

func TestDocumentsShowCodeThatRuns(t *testing.T) {
	t.Parallel()
	files := repository(t)
	tests := flatTests(files)
	shown := 0
	for _, f := range files {
		shown += len(goBlocks(f))
		for _, w := range madeUp(f, tests) {
			t.Error(w)
		}
	}
	if shown == 0 {
		t.Fatal("no code was found") // a check of nothing finds nothing
	}
}

func TestMadeUpCodeIsFound(t *testing.T) {
	t.Parallel()
	tests := flatTests([]file{
		source(t, "rmq/example_test.go", "package rmq\n\nfunc f() {\n\tg()\n\th()\n}\n"),
		source(t, "rmq/rmq.go", "package rmq\n\nfunc g() {}\n"),
	})
	for _, bad := range []string{"```go\nh()\ng()\n```", "```go\nfunc g() {}\n```", "```go\ng()\n```\n```go\ni()\n```", "```go\npackage rmq\n```"} {
		if madeUp(source(t, "README.md", bad), tests) == nil {
			t.Errorf("a document may show %q", bad)
		}
	}
	for _, good := range []string{"```go\ng()\nh()\n```", "```go\nfunc f() {\n    g()\n```", "```\nany()\n```", "```go\npackage main\n```"} {
		for _, w := range madeUp(source(t, "README.md", good), tests) {
			t.Error(w)
		}
	}
}
