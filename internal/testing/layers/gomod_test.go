package layers

import (
	"path"
	"regexp"
	"testing"
)

var (
	goLine    = regexp.MustCompile(`(?m)^go (.*)$`)
	firstOf   = regexp.MustCompile(`^1\.\d+\.0$`)
	toolchain = regexp.MustCompile(`(?m)^toolchain go1\.\d+\.\d+$`)
)

// oddGoLine tells what is wrong with the Go version of a go.mod. Its go line is forced
// on every module that requires it, so it names the first patch of a version; what we
// ourselves build and test with is the toolchain line, which binds nobody else.
func oddGoLine(f file) string {
	switch line := goLine.FindStringSubmatch(f.text); {
	case line == nil || !firstOf.MatchString(line[1]):
		return "the go line must end in .0, or everybody who requires the module is made to have that patch"
	case !toolchain.MatchString(f.text):
		return "a toolchain line must say with what it is tested"
	}
	return ""
}

func TestGoLinesBindNobodyToAPatch(t *testing.T) {
	t.Parallel()
	found := 0
	for _, f := range repository(t) {
		if path.Base(f.path) != "go.mod" {
			continue
		}
		found++
		if odd := oddGoLine(f); odd != "" {
			t.Errorf("%s: %s", f.path, odd)
		}
	}
	if found == 0 {
		t.Fatal("no go.mod was found") // a check of nothing finds nothing
	}
	for text, good := range map[string]bool{
		"go 1.26.0\n\ntoolchain go1.26.8\n": true, "go 1.26.8\n\ntoolchain go1.26.8\n": false,
		"go 1.26\n\ntoolchain go1.26.8\n": false, "go 1.26.0\n": false, "toolchain go1.26.8\n": false,
	} {
		if odd := oddGoLine(source(t, "go.mod", text)); (odd == "") != good {
			t.Errorf("%q: %q", text, odd)
		}
	}
}
