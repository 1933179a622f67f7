package layers

import (
	"path"
	"regexp"
	"strings"
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

var (
	ownVersion = regexp.MustCompile(`(?m)^.*` + regexp.QuoteMeta(module) + `[a-z/]* (v[0-9.]+)`)
	guard      = regexp.MustCompile(`EveryModuleMustBe_v([0-9_]+)`)
	thisOne    = regexp.MustCompile(`(?m)^const Number = "(.*)"$`)
)

// All modules are of one version, which stands in each go.mod, in go.work and in the constant that each module names. Who
// installs a module gets nothing that a line with replace says, so there is none.
func TestOneVersion(t *testing.T) {
	t.Parallel()
	var version string
	for _, f := range repository(t) {
		if found := thisOne.FindStringSubmatch(f.text); f.path == "internal/version/version.go" && found != nil {
			version = found[1]
		}
	}
	named, guarded := 0, map[string]bool{}
	for _, f := range repository(t) {
		mod := path.Base(f.path) == "go.mod"
		if mod && strings.Contains(f.text, "replace") {
			t.Errorf("%s: a replace, which counts for nobody else", f.path)
		}
		for _, found := range ownVersion.FindAllStringSubmatch(f.text, -1) {
			if !mod && f.path != "go.work" {
				continue
			}
			named++
			if found[1] != version {
				t.Errorf("%s: %s, and internal/version says %s", f.path, found[0], version)
			}
		}
		if found := guard.FindStringSubmatch(f.text); found != nil && f.goFile() && !f.test() {
			guarded[top(f.pkg())] = true
			if "v"+strings.ReplaceAll(found[1], "_", ".") != version {
				t.Errorf("%s: %s, and internal/version says %s", f.path, found[0], version)
			}
		}
	}
	if version == "" || named < 10 {
		t.Errorf("version %q is named %d times", version, named) // a check of nothing finds nothing
	}
	for _, dir := range []string{"internal", "rmqotel", "rmqprom", "rmqproto", "server"} {
		if !guarded[dir] {
			t.Errorf("%s does not name the version of the module it needs", dir)
		}
	}
}
