package release

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// release.sh refuses what is no release, changes nothing then, and makes one commit that has one version everywhere.
// Modules of two versions do not compile together, and the compiler says why.
func TestRelease(t *testing.T) {
	t.Parallel()
	here := thisTree(t)
	r := copyOf(here)
	r.write("test.sh", "#!/bin/sh\ntest \"$TESTS\" = pass && grep -q 'go-rmq v0.99.0' server/go.mod\n")
	r.replaces("CHANGELOG.md", "Not released yet", "Released")
	r.change("CHANGELOG.md", "(?m)^## v", "## v0.99.0: more\n\nNot released yet.\n\n## v")
	for _, page := range []string{"README.md", "docs/GUIDE.md", "docs/CONSOLE.md", "docs/JOURNAL.md", "docs/OPERATIONS.md"} {
		r.replaces(page, "go mod edit -replace", "go get")
		r.replaces(page, "has been released yet", "else")
		r.replaces(page, "nce there is a release", "lse")
		r.replaces(page, "nothing is released", "else")
	}
	r.git("init", "-q", "-b", "main")
	r.commits()

	for _, c := range []struct{ version, says string }{
		{"", "which version?"}, {"0.99.0", "which version?"}, {"v2.0.0", "which version?"}, {"v0.99", "which version?"},
		{"v0.98.0", `must begin with v0.98.0, not with "## v0.99.0: more"`},
	} {
		r.refuses(c.version, c.says)
	}
	r.write("new.txt", "x")
	r.refuses("v0.99.0", "not committed yet:\n?? new.txt")
	do(t, os.Remove(filepath.Join(r.dir, "new.txt")))
	for _, tag := range []string{"v0.99.0", "v0.100.0"} {
		r.git("tag", tag)
		r.refuses("v0.99.0", tag+" is released already")
		r.git("tag", "-d", tag)
	}
	r.change("README.md", "\\n", "\ngo mod edit -replace\n")
	r.commits()
	r.refuses("v0.99.0", "these lines are for before the first release:\nREADME.md:2:")
	r.change("CHANGELOG.md", "Not released yet", "Soon")
	r.git("checkout", "-q", "HEAD~1", "README.md")
	r.commits()
	r.refuses("v0.99.0", "CHANGELOG.md must say of v0.99.0: Not released yet.")
	r.change("CHANGELOG.md", "Soon", "Not released yet")
	r.commits()
	r.refuses("v0.99.0", "nothing is changed") // TESTS is not pass
	r.replaces("test.sh", "#!/bin/sh\n", "#!/bin/sh\necho >> LICENSE\n")
	r.commits()
	before := r.git("rev-parse", "HEAD")
	if out, err := r.command("env", "TESTS=pass", "./release.sh", "v0.99.0").CombinedOutput(); err == nil || !strings.Contains(string(out), "changed while the tests ran:\nLICENSE\n") {
		t.Errorf("%v\n%s", err, out)
	}
	if r.git("rev-parse", "HEAD") != before || r.git("status", "--porcelain") != " M LICENSE\n" {
		t.Error("what somebody has done meanwhile is not left as it is")
	}
	r.git("checkout", "-q", "HEAD~1", "--", "test.sh", "LICENSE")
	r.commits()

	before = r.git("rev-parse", "HEAD")
	t.Log(r.releases("v0.99.0", "pass"))
	if r.git("rev-parse", "HEAD~1") != before || r.git("tag") != "" || r.git("status", "--porcelain") != "" {
		t.Errorf("not one commit without a tag:\n%s", r.git("log", "--stat", "-3"))
	}
	if at := r.version(); at != "v0.99.0" {
		t.Errorf("it is %s", at)
	}
	r.finds("CHANGELOG.md", `(?s)^## v0.99.0: more\n\n(Released on 20\d\d-\d\d-\d\d)\.$`)
	for line := range strings.Lines(r.git("grep", "-nE", `go-rmq[a-z/]* v[0-9]`, "--", "*go.mod", "go.work") + r.git("grep", "-nE", `EveryModuleMustBe_v[0-9]`, "--", "*.go")) {
		if !strings.Contains(line, "v0.99.0") && !strings.Contains(line, "v0_99_0") {
			t.Errorf("another version: %s", line)
		}
	}

	p := newProxy(t)
	p.publish(here, ".")
	newer, older := p.publish(r.tree, "."), p.publish(here, "rmqproto")
	shop := p.shop()
	p.runs(shop, "go", "get", newer.Path+"@"+newer.Version, older.Path+"@"+older.Version)
	said, err := p.tries(shop, "go", "build", older.Path)
	if err == nil || !strings.Contains(said, "undefined: version.EveryModuleMustBe_"+strings.ReplaceAll(older.Version, ".", "_")) {
		t.Errorf("%v\n%s", err, said)
	}
}

// repository is one in which somebody works.
type repository struct{ tree }

// copyOf has the files of a tree, and no history.
func copyOf(from tree) repository {
	r := repository{tree{from.t, from.t.TempDir()}}
	do(r.t, filepath.WalkDir(from.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file, _ := filepath.Rel(from.dir, name) // cannot fail below it
		switch {
		case file == ".git" && !d.IsDir(): // in a worktree
			return nil
		case file == ".git" || file == "bin":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(r.dir, file), 0o700)
		}
		text, err := os.ReadFile(name)
		if err == nil {
			r.write(file, string(text))
		}
		return err
	}))
	return r
}

func (r repository) write(file, text string) {
	r.t.Helper()
	do(r.t, os.WriteFile(filepath.Join(r.dir, file), []byte(text), 0o700))
}

func (r repository) replaces(file, old, by string) {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, file))
	do(r.t, err)
	r.write(file, strings.ReplaceAll(string(text), old, by))
}

// change changes the first place that the expression matches.
func (r repository) change(file, expression, to string) {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, file))
	do(r.t, err)
	at := regexp.MustCompile(expression).FindSubmatchIndex(text)
	if at == nil {
		r.t.Fatalf("%s has nothing like %s", file, expression)
	}
	changed := regexp.MustCompile(expression).Expand(nil, []byte(to), text, at)
	r.write(file, string(text[:at[0]])+string(changed)+string(text[at[1]:]))
}

func (r repository) git(args ...string) (said string) {
	r.t.Helper()
	out, err := r.command("git", args...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (r repository) commits() {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "work")
}

func (r repository) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(r.t.Context(), name, args...)
	cmd.Dir = r.dir
	// GIT_DIR: hooks of git set it, and then it would be that of this repository.
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_DIR="+filepath.Join(r.dir, ".git"),
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost")
	return cmd
}

// refuses checks that the release fails, says why, and leaves everything as it was.
func (r repository) refuses(version, says string) {
	r.t.Helper()
	was := r.git("rev-parse", "HEAD") + r.git("status", "--porcelain")
	out, err := r.command("./release.sh", version).CombinedOutput()
	if err == nil || !strings.Contains(string(out), says) {
		r.t.Errorf("release.sh %s: %v, wanted %q\n%s", version, err, says, out)
	}
	if is := r.git("rev-parse", "HEAD") + r.git("status", "--porcelain"); is != was {
		r.t.Errorf("release.sh %s has changed something:\n%s", version, is)
	}
}

func (r repository) releases(version, tests string) (said string) {
	r.t.Helper()
	cmd := r.command("./release.sh", version)
	cmd.Env = append(cmd.Env, "TESTS="+tests)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "git push --atomic origin HEAD v0.99.0 rmqotel/v0.99.0 rmqprom/v0.99.0 rmqproto/v0.99.0 server/v0.99.0\n") {
		r.t.Fatalf("release.sh %s: %v\n%s", version, err, out)
	}
	return string(out)
}
