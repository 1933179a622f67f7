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

// deadNames tells what a document names that does not exist.
func deadNames(f file, known inventory) []string {
	if path.Ext(f.path) != ".md" {
		return nil
	}
	dead := map[string]bool{}
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
	for _, bad := range []string{"see `TestGone`", "[x](gone.go)", "[x](../slots/gone.go)", "[x](slots)", "[x](GONE.md#of)"} {
		if deadNames(source(t, "docs/a.md", bad), known) == nil {
			t.Errorf("a document may say %q", bad)
		}
	}
	good := strings.Join([]string{"`TestOf`, Testing, `go test`", "[x](../slots/of_test.go)", "[x](../slots)", "[x](DESIGN.md#x)", "[x](#x)", "[x](https://example.org/y)"}, " ")
	for _, d := range deadNames(source(t, "docs/a.md", good), known) {
		t.Error(d)
	}
}
