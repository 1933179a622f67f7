package layers

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// pageless returns the packages without a page of their own: a comment on their package clause that names them, and has a
// sentence to say. It is the only map of the code there is.
func pageless(files []file) (wrong []string) {
	pages := map[string]string{}
	for _, f := range files {
		if f.goFile() && !f.test() {
			pages[f.pkg()] += f.code.Doc.Text()
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(pages)) {
		words, name := strings.Fields(pages[pkg]), path.Base(pkg)
		if len(words) < 9 || !slices.Contains([]string{"Package " + name, "Command " + name}, words[0]+" "+words[1]) && words[0] != strings.ToUpper(name[:1])+name[1:] {
			wrong = append(wrong, fmt.Sprintf("%s: its page is %q", pkg, pages[pkg]))
		}
	}
	return wrong
}

func TestPackagesHavePages(t *testing.T) {
	files := repository(t)
	for _, wrong := range pageless(files) {
		t.Error(wrong)
	}
}

func TestPackagesWithoutPagesAreFound(t *testing.T) {
	const page = "// Package a is what packages are that have a page.\n"
	for text, want := range map[string]int{"package a\n": 1, "// Package a is a.\npackage a\n": 1, strings.Replace(page, "Package a", "Package b", 1) + "package a\n": 1, page + "package a\n": 0} {
		if got := pageless([]file{source(t, "x/a/a.go", text)}); len(got) != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
