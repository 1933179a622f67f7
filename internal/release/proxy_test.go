package release

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// folders of the modules that people install.
var folders = []string{".", "rmqotel", "rmqprom", "rmqproto", "server"}

// tree is a copy of the repository, or the one that this test is part of.
type tree struct {
	t   *testing.T
	dir string
}

func thisTree(t *testing.T) tree {
	dir, err := filepath.Abs("../..")
	do(t, err)
	return tree{t, dir}
}

// finds is what the expression has in its parentheses.
func (r tree) finds(file, expression string) string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, file))
	do(r.t, err)
	found := regexp.MustCompile("(?m)" + expression).FindSubmatch(text)
	if found == nil {
		r.t.Fatalf("%s has nothing like %s", file, expression)
	}
	return string(found[1])
}

func (r tree) version() string {
	return r.finds("internal/version/version.go", `^const Number = "(.*)"$`)
}

func (r tree) module(folder string) module.Version {
	return module.Version{Path: r.finds(filepath.Join(folder, "go.mod"), `^module (.*)$`), Version: r.version()}
}

// proxy is a folder, as GOPROXY knows them, with a module cache of those who use it. What is not ours comes from where
// the modules of this test came from.
type proxy struct {
	t                *testing.T
	dir, cache, past string
}

func newProxy(t *testing.T) *proxy {
	p := &proxy{t: t, dir: t.TempDir(), cache: t.TempDir()}
	known := strings.Split(strings.TrimSpace(p.runs(".", "go", "env", "GOMODCACHE", "GOPROXY")), "\n")
	p.past = "file://" + filepath.ToSlash(known[0]) + "/cache/download," + known[1]
	return p
}

// publish makes of the module what a tag of it would.
func (p *proxy) publish(r tree, folder string) module.Version {
	p.t.Helper()
	m := r.module(folder)
	at := filepath.Join(p.dir, filepath.FromSlash(m.Path), "@v")
	do(p.t, os.MkdirAll(at, 0o700))
	write := func(name string, text []byte) { do(p.t, os.WriteFile(filepath.Join(at, name), text, 0o600)) }
	mod, err := os.ReadFile(filepath.Join(r.dir, folder, "go.mod"))
	do(p.t, err)
	var archive bytes.Buffer
	do(p.t, zip.CreateFromDir(&archive, m, filepath.Join(r.dir, folder)))
	write("list", []byte(m.Version+"\n"))
	write(m.Version+".mod", mod)
	write(m.Version+".zip", archive.Bytes())
	write(m.Version+".info", fmt.Appendf(nil, `{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, m.Version))
	return m
}

// shop is a new module of somebody.
func (p *proxy) shop() (dir string) {
	dir = p.t.TempDir()
	do(p.t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module shop\n\ngo 1.26.0\n"), 0o600))
	return dir
}

// tries runs a program as somebody does who knows nothing but the proxy.
func (p *proxy) tries(dir string, command ...string) (said string, err error) {
	cmd := exec.CommandContext(p.t.Context(), command[0], command[1:]...)
	cmd.Dir = dir
	if p.past != "" {
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOSUMDB=off", "GOMODCACHE="+p.cache, "GOBIN="+filepath.Join(p.cache, "bin"),
			"GOPROXY=file://"+filepath.ToSlash(p.dir)+","+p.past, "GOFLAGS="+os.Getenv("GOFLAGS")+" -modcacherw")
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (p *proxy) runs(dir string, command ...string) (said string) {
	p.t.Helper()
	said, err := p.tries(dir, command...)
	if err != nil {
		p.t.Fatalf("%q: %v\n%s", command, err, said)
	}
	return said
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
