package gatewaytest

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// Each line that docs/HTTP.md shows is typed, in the order of the page, and prints what stands below it, but for what differs
// each time: receipts, times, fences.
func TestLinesOfTheDocument(t *testing.T) {
	t.Parallel()
	interpreter(t, "curl")
	text, err := os.ReadFile("../../docs/HTTP.md")
	must.Do(t, err)
	dir, at := proctest.New(t), servertest.Nobody(t)
	serving(t, dir, "rmqd", at, servertest.Redis(t).Addr(), "--sdmq", "--journal", "sqlite:"+journalFile(t))
	folder, typed := t.TempDir(), 0
	for _, c := range consoles(string(text)) {
		typing := func() (string, error) {
			cmd := exec.Command("bash", "-c", strings.ReplaceAll(c.line, "localhost:8080", at))
			cmd.Dir = folder
			out, err := cmd.CombinedOutput()
			return masked(string(out)), err
		}
		got, err := typing()
		want := masked(c.says)
		for tries := 0; tries < 60 && got != want && strings.Contains(c.line, "/readyz"); tries++ { // within 0.8 s, which a busy machine may not make at once
			got, err = typing()
		}
		if err != nil || got != want {
			t.Errorf("$ %s\n%s\nthe document says:\n%s\n%v", c.line, got, want, err)
		}
		typed++
	}
	if typed < 25 {
		t.Errorf("only %d lines were found", typed)
	}
}

// journalFile is a journal that is there.
func journalFile(t testing.TB) string {
	t.Helper()
	file := t.TempDir() + "/journal.db"
	must.Do(t, os.WriteFile(file, nil, 0o600))
	return file
}

// typed is a line that a person types, and what it prints.
type typed struct{ line, says string }

// consoles are the lines of all consoles of a page.
func consoles(page string) (all []typed) {
	for rest := page; ; {
		var block string
		var found bool
		if _, rest, found = strings.Cut(rest, "```console\n"); !found {
			return all
		}
		block, rest, _ = strings.Cut(rest, "```")
		for line := range strings.Lines(block) {
			if command, is := strings.CutPrefix(line, "$ "); is {
				all = append(all, typed{line: strings.TrimSuffix(command, "\n")})
			} else if last := &all[len(all)-1]; strings.HasSuffix(last.line, "\\") { // the command goes on
				last.line += "\n" + strings.TrimSuffix(line, "\n")
			} else {
				last.says += line
			}
		}
	}
}

// changing is what differs each time.
var changing = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`"receipt":"[^"]*"`), `"receipt":"…"`},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
	{regexp.MustCompile(`"fence":\d+`), `"fence":0`},
	{regexp.MustCompile(`_ms":\d+`), `_ms":0`},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "HOST"},
}

func masked(text string) string {
	for _, c := range changing {
		text = c.pattern.ReplaceAllString(text, c.by)
	}
	return strings.TrimSpace(text)
}
