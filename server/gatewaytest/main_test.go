package gatewaytest

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

var ctx = context.Background()

func TestMain(m *testing.M) {
	for _, v := range []string{"RMQ_REDIS", "RMQ_JOURNAL", "RMQ_ZK", "RMQ_NAMESPACE", "RMQ_URL", "RMQ_TOKEN"} {
		os.Unsetenv(v)
	}
	servertest.Main(m)
}

// rmqd is the binary.
func rmqd(t testing.TB) string {
	t.Helper()
	return servertest.Build(t, "../cmd/rmqd")
}

// interpreter is that of a language. Without it a test fails: ./test.sh installs it.
func interpreter(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v: run ./test.sh, which installs it", err)
	}
	return path
}

// clients is the folder of the clients that users copy.
func clients(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../../examples/http")
	must.Do(t, err)
	return dir
}

// serving starts rmqd serve as a process at an address, and waits until it answers.
func serving(t testing.TB, dir *proctest.Dir, name, at, redis string, args ...string) *proctest.Process {
	t.Helper()
	p := dir.Run(name, exec.Command(rmqd(t), append([]string{"serve", "--listen", at, "--redis", "redis://" + redis}, args...)...))
	dir.Await(name+" listens", func() bool { return listens(at) })
	return p
}

func listens(at string) bool {
	c, err := net.Dial("tcp", at)
	if err == nil {
		c.Close()
	}
	return err == nil
}

// run runs a script of the clients to its end, and returns what it printed.
func run(t testing.TB, stdin string, env []string, name string, args ...string) string {
	t.Helper()
	out, err := try(t, stdin, env, name, args...)
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return out
}

func try(t testing.TB, stdin string, env []string, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(await.Context(t), interpreter(t, name), args...)
	cmd.Dir, cmd.Stdin = clients(t), strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), append(env, "PYTHONDONTWRITEBYTECODE=1")...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
