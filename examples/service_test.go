package examples_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// The whole service of docs/GUIDE.md is built as it stands there, in a module of its own,
// and does on a real Redis what the page says: it sends, cancels, handles, answers probes,
// counts, and ends by SIGTERM.
func TestServiceOfTheGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/GUIDE.md")
	if err != nil {
		t.Fatal(err)
	}
	const begin = "```go\npackage main\n"
	if strings.Count(string(guide), begin) != 1 {
		t.Fatal("GUIDE.md does not show one whole program")
	}
	_, program, _ := strings.Cut(string(guide), begin)
	program, _, _ = strings.Cut("package main\n"+program, "```")
	addr := servertest.Nobody(t)
	for old, changed := range map[string]string{"redis://localhost:6379": "redis://" + servertest.Redis(t).Addr(), `":8080"`: fmt.Sprintf("%q", addr)} {
		if strings.Count(program, old) != 1 {
			t.Fatalf("the program does not name %s once", old)
		}
		program = strings.Replace(program, old, changed, 1)
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir := module(t, "module reminders\n\ngo 1.26.0\n\nrequire (\n\tgithub.com/slotmq/go-rmq v0.0.0\n\tgithub.com/slotmq/go-rmq/rmqprom v0.0.0\n)\n", program)
	sums, err := os.ReadFile("../rmqprom/go.sum")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600); err != nil {
		t.Fatal(err)
	}
	tool(t, dir, "go", "mod", "edit", "-replace", "github.com/slotmq/go-rmq="+root, "-replace", "github.com/slotmq/go-rmq/rmqprom="+root+"/rmqprom")
	tool(t, dir, "go", "mod", "tidy")
	tool(t, dir, "go", "vet", ".")
	tool(t, dir, "go", "build", "-o", "reminders", ".")

	var said strings.Builder
	cmd := exec.Command(filepath.Join(dir, "reminders"))
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }() // it has ended unless the test fails

	ask := service("http://" + addr)
	ask.until(t, "GET", "/readyz", "ok")
	ask.until(t, "GET", "/livez", "ok")
	ask.until(t, "PUT", "/reminders?to=ann&text=hello&in=1h", "stored, due at ")
	ask.until(t, "PUT", "/reminders?to=ann&text=hello&in=2h", "merged, due at ")
	ask.until(t, "DELETE", "/reminders?to=ann&text=hello", "removed: true, asked to stop: false")
	ask.until(t, "DELETE", "/reminders?to=ann&text=hello", "removed: false, asked to stop: false")
	ask.until(t, "PUT", "/reminders?to=bob&text=now&in=1ms", "stored, due at ")
	ask.until(t, "GET", "/metrics", `messaging_client_consumed_messages_total{error_type="",messaging_destination_name="reminders",messaging_operation_name="process",messaging_system="rmq"} 1`)
	ask.until(t, "GET", "/metrics", `rmq_merged_total{topic="reminders"} 1`)

	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := await.Signal(t, "SIGTERM ends it", ended); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	if !strings.Contains(said.String(), "remind bob: now\n") || strings.Contains(said.String(), "ann") {
		t.Errorf("it said\n%s", said.String())
	}
}

// service is where one answers HTTP.
type service string

// until asks until the answer has what is wanted.
func (s service) until(t *testing.T, method, path, want string) {
	t.Helper()
	await.Nil(t, fmt.Sprintf("%s %s says %q", method, path, want), func() error {
		request, err := http.NewRequestWithContext(t.Context(), method, string(s)+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			return fmt.Errorf("%d, %v\n%s", response.StatusCode, err, body)
		}
		return nil
	})
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
