package examples_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// TestReadme does what README.md says, line by line and in its order, on one Redis, as somebody does who copies it.
func TestReadme(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../README.md")
	must.Do(t, err)
	page := string(text)
	root, err := filepath.Abs("..")
	must.Do(t, err)
	home, redis, gateway := t.TempDir(), servertest.Redis(t).Addr(), servertest.Nobody(t)
	must.Do(t, os.Symlink(root, filepath.Join(home, "go-rmq")))
	here := strings.NewReplacer("localhost:6379", redis, "localhost:8080", gateway, "../bin/", home+"/bin/", "bin/", home+"/bin/")

	_, program, _ := strings.Cut(page, "```go\npackage main\n")
	program, _, _ = strings.Cut("package main\n"+program, "```")
	// Before the first release README.md says this. What is being released cannot be fetched yet, either.
	const unreleased = "go mod edit -replace github.com/slotmq/go-rmq=../go-rmq && go mod tidy"
	if strings.Contains(page, "has been released yet") && !strings.Contains(page, "replace the second line by\n`"+unreleased+"`") {
		t.Error("README.md does not say what to do before the first release")
	}

	outside, clone := openTerminal(t, home), openTerminal(t, root)
	stores := time.Now()
	for _, command := range commandsOf(page) {
		line := here.Replace(command.line)
		switch {
		case strings.HasPrefix(line, "mkdir shop"):
			outside.types(line)
			outside.types("go mod edit -go=1.26.0") // a newer one would be forced on everybody
			must.Do(t, os.WriteFile(filepath.Join(home, "shop", "main.go"), []byte(here.Replace(program)), 0o600))
		case strings.HasPrefix(line, "go get "):
			outside.types(unreleased)
			keepsItsGo(t, filepath.Join(home, "shop", "go.mod"))
		case line == "go run .":
			stores = time.Now()
			outside.starts(line)
			said := outside.saysUntil("emails to customer 7\n", "prices product 12\n", "orders close 4711\n")
			if passed := time.Since(stores); passed < 2*time.Second {
				t.Errorf("the order was closed after %v", passed)
			}
			for _, once := range []string{"emails to customer 7\n", "prices product 12\n"} {
				if strings.Count(said, once) != 1 {
					t.Errorf("not once %q, but:\n%s", once, said)
				}
			}
			if said := outside.interrupts(); said != "" {
				t.Errorf("interrupted, it says %s", said)
			}
		case strings.Contains(line, "rmqd serve"):
			clone.starts(strings.Replace(line, "serve", "serve --listen "+gateway, 1))
			clone.saysUntil(gateway)
		case command.shows == "":
			if said := clone.types(line); strings.Contains(line, "quickstart") && !strings.Contains(said, "two workers") {
				t.Errorf("%s\n%s", line, said)
			}
		default:
			if got, want := sameEachTime(outside.types(line)), sameEachTime(command.shows); got != want {
				t.Errorf("$ %s\n%s\nREADME.md says:\n%s", line, got, want)
			}
		}
	}
	clone.interrupts()
}

// command is a line that README.md shows, and what it says that the line prints.
type command struct{ line, shows string }

// commandsOf are the lines of a page that are typed into a shell.
func commandsOf(page string) (all []command) {
	for n, block := range strings.Split(page, "\n```") {
		kind, block, _ := strings.Cut(block, "\n")
		if n%2 == 0 || kind != "" && kind != "console" {
			continue
		}
		for line := range strings.Lines(block) {
			if typed, is := strings.CutPrefix(line, "$ "); is || kind == "" {
				typed, _, _ = strings.Cut(typed, " #") // a comment
				all = append(all, command{line: strings.TrimSpace(typed)})
			} else {
				all[len(all)-1].shows += line
			}
		}
	}
	return all
}

var changes = regexp.MustCompile(`"(receipt|until)":"[^"]*"|"fence":[0-9]+`)

// sameEachTime is an answer of the gateway without its receipts and times.
func sameEachTime(answer string) string {
	return strings.TrimSpace(changes.ReplaceAllString(answer, "…"))
}

// keepsItsGo checks that a module which requires this one may have the Go that README.md names: a newer one would be
// forced on everybody.
func keepsItsGo(t *testing.T, mod string) {
	t.Helper()
	text, err := os.ReadFile(mod)
	must.Do(t, err)
	if !strings.Contains(string(text), "\ngo 1.26.0\n") || strings.Contains(string(text), "toolchain") {
		t.Errorf("a module that requires this one must have Go 1.26.0:\n%s", text)
	}
}

// terminal is a shell, at which somebody types.
type terminal struct {
	t     *testing.T
	typed *os.File
	lines chan string
}

func openTerminal(t *testing.T, dir string) *terminal {
	t.Helper()
	cmd := exec.Command("bash")
	cmd.Dir = dir
	keys, typed, err := os.Pipe()
	must.Do(t, err)
	screen, shown, err := os.Pipe()
	must.Do(t, err)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = keys, shown, shown
	must.Do(t, cmd.Start())
	must.Do(t, keys.Close())
	must.Do(t, shown.Close())
	term := &terminal{t: t, typed: typed, lines: make(chan string, 1000)}
	go func() {
		defer close(term.lines)
		for read := bufio.NewScanner(screen); read.Scan(); {
			term.lines <- read.Text() + "\n"
		}
	}()
	t.Cleanup(func() {
		_, _ = fmt.Fprintln(typed, "for group in $(jobs -p); do kill -- -$group; done 2>/dev/null; exit")
		_ = cmd.Wait()
	})
	term.types("set -m") // what is started may be interrupted alone
	return term
}

// types types a line, and returns what it prints. It must succeed.
func (term *terminal) types(line string) string {
	term.t.Helper()
	term.enter(line + "\necho \"DONE $?\"")
	said := term.saysUntil("DONE ")
	said, code, _ := strings.Cut(said, "DONE ")
	if code != "0\n" {
		term.t.Fatalf("$ %s\n%s\nended with %s", line, said, code)
	}
	return said
}

// starts types a line that goes on, and interrupts ends it as Ctrl-C does, and returns what it says then.
func (term *terminal) starts(line string) { term.enter(line + " &") }

func (term *terminal) interrupts() (said string) {
	term.t.Helper()
	return term.types("kill -INT -- -$!; wait $! || true") // go run has an exit code of its own
}

func (term *terminal) enter(text string) {
	term.t.Helper()
	_, err := fmt.Fprintln(term.typed, text)
	must.Do(term.t, err)
}

// saysUntil is what is printed until all texts are there. A build takes what it takes.
func (term *terminal) saysUntil(texts ...string) (said string) {
	term.t.Helper()
	patience, cancel := context.WithTimeout(term.t.Context(), 5*await.Patience)
	defer cancel()
	for slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(said, text) }) {
		select {
		case line, open := <-term.lines:
			if !open {
				term.t.Fatalf("the shell ended before it said %q:\n%s", texts, said)
			}
			said += line
		case <-patience.Done():
			term.t.Fatalf("not %q within %v, but:\n%s", texts, 5*await.Patience, said)
		}
	}
	return said
}
