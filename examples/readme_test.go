package examples_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// The whole programs of README.md are built as a newcomer would, in a module of their
// own that requires this one, and run. That module says the Go version which README.md
// names, and keeps it: a go line here that is newer would be forced on everybody.
func TestProgramsOfTheReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	server := servertest.Redis(t)
	ran := 0
	for _, rest := range strings.Split(string(readme), "```go\n")[1:] {
		program, _, _ := strings.Cut(rest, "```")
		if !strings.HasPrefix(program, "package main\n") {
			continue
		}
		ran++
		const address = "redis://localhost:6379"
		if !strings.Contains(program, address) {
			t.Fatalf("it has no %s:\n%s", address, program)
		}
		const mod = "module shop\n\ngo 1.26.0\n\nrequire github.com/slotmq/go-rmq v0.0.0\n\nreplace github.com/slotmq/go-rmq => "
		dir := module(t, mod+root+"\n", strings.ReplaceAll(program, address, "redis://"+server.Addr()))
		tool(t, dir, "go", "mod", "tidy")
		tidy, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(tidy), "\ngo 1.26.0\n") || strings.Contains(string(tidy), "toolchain") {
			t.Errorf("a module that requires this one must keep its Go version, 1.26.0:\n%s", tidy)
		}
		tool(t, dir, "go", "vet", ".")
		tool(t, dir, "go", "build", "-o", "shop", ".")
		closesAnOrder(t, filepath.Join(dir, "shop"))
	}
	if ran == 0 {
		t.Fatal("README.md shows no whole program")
	}
}

// The table of options in README.md has a row for each field of rmq.Config, and the
// text below it names each of rmq.ListenOptions.
func TestReadmeListsEveryOption(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## Configuration\n")
	section, _, _ = strings.Cut(section, "\n## ")
	table, below, _ := strings.Cut(section, "\n`rmq.ListenOptions`")
	for _, f := range reflect.VisibleFields(reflect.TypeFor[rmq.Config]()) {
		if !strings.Contains(table, "\n| `"+f.Name+"` |") {
			t.Errorf("README.md has no row for rmq.Config.%s", f.Name)
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[rmq.ListenOptions]()) {
		if !strings.Contains(below, "`"+f.Name+"`") {
			t.Errorf("README.md does not name rmq.ListenOptions.%s", f.Name)
		}
	}
}

// module makes one in a folder of the test's, with the sums of this one.
func module(t *testing.T, mod, program string) (dir string) {
	t.Helper()
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for name, text := range map[string]string{"go.mod": mod, "go.sum": string(sums), "main.go": program} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func tool(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
}

// closesAnOrder runs the first program until it has said what README.md says it does,
// and then ends it by Ctrl-C.
func closesAnOrder(t *testing.T, program string) {
	t.Helper()
	cmd := exec.Command(program)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }() // it has ended unless the test fails
	said, read := "", make(chan struct{})
	go func() {
		defer close(read)
		said, _ = bufio.NewReader(out).ReadString('\n')
	}()
	await.Signal(t, "it says something", read)
	if said != "close order 4711\n" || time.Since(begun) < time.Second {
		t.Errorf("after %v it said %q", time.Since(begun), said)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
}
