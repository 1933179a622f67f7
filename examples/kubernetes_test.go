package examples_test

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// The worker in a pod starts before its Redis, is ready only while that is there, live all the
// time, and ends with exit code 0 at SIGTERM.
func TestPod(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		pod(t, "redis")
	})
	t.Run("zookeeper", func(t *testing.T) {
		t.Parallel()
		pod(t, "zookeeper", "RMQ_ZK="+strings.Join(servertest.ZooKeeper(t).Servers(), ","))
	})
}

func pod(t *testing.T, sharing string, env ...string) {
	program := filepath.Join(t.TempDir(), "worker")
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "./kubernetes").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	server := servertest.Redis(t)
	server.Kill()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "RMQ_REDIS=redis://"+server.Addr(), "PROBES=127.0.0.1:0", "POD_NAME=jobs-1")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	at := regexp.MustCompile(`"address":"(.*?)"`).FindStringSubmatch(line)
	if at == nil {
		t.Fatalf("it says %q (%v)", line, err)
	}
	var said strings.Builder
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&said, lines)
	}()
	code := func(path string) int {
		r, err := http.Get("http://" + at[1] + path)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		return r.StatusCode
	}
	ready := func(want int) {
		t.Helper()
		await.True(t, "/readyz is "+strconv.Itoa(want), func() bool {
			if live := code("/livez"); live != 200 {
				t.Fatalf("not live: %d", live)
			}
			return code("/readyz") == want
		})
	}
	ready(503)
	server.Restart(t)
	ready(200)
	if by := server.Client(t).HGet(t.Context(), protocol.DefinitionKey("jobs"), "sharing").Val(); by != sharing {
		t.Errorf("the slots are shared by %q", by)
	}
	server.Kill()
	ready(503)
	server.Restart(t)
	ready(200)
	http.DefaultClient.CloseIdleConnections()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-read
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v:\n%s", err, &said)
	}
}

// The Deployment gives the pod the time that its end takes, and asks at the paths there are.
func TestDeployment(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join("kubernetes", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	number := func(text, pattern string) int {
		found := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if found == nil {
			t.Fatalf("%s is not there", pattern)
		}
		n, _ := strconv.Atoi(found[1]) // digits
		return n
	}
	yaml := read("deployment.yaml")
	timeout := number(read("main.go"), `const timeout = (\d+) \* time.Second`)
	grace, sleep := number(yaml, `terminationGracePeriodSeconds: (\d+)`), number(yaml, `sleep: \{seconds: (\d+)\}`)
	if grace < sleep+timeout+5 {
		t.Errorf("Kubernetes kills after %d s; preStop takes %d, the handlers %d", grace, sleep, timeout)
	}
	for kind, path := range map[string]string{"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"} {
		if !strings.Contains(yaml, kind+":\n            httpGet: {path: "+path+", port: probes}") {
			t.Errorf("the %s does not ask at %s", kind, path)
		}
	}
}
