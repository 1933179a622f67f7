package servertest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
)

func TestMain(m *testing.M) { Main(m) }

// victimEnv makes TestVictim, in a process of its own, end in a chosen way.
const victimEnv = "RMQ_SERVERTEST_VICTIM"

func TestVictim(t *testing.T) {
	how := os.Getenv(victimEnv)
	if how == "" {
		return // not a victim; TestMainAndTheEndOfTheProcess starts those
	}
	fmt.Printf("serving on %s;\n", SharedRedis(t).Addr())
	if how == "panic" { // it takes its time
		fmt.Printf("serving on %s;\n", SharedZooKeeper(t).Addr())
	}
	switch how {
	case "bad end":
		AtEnd(func() error { return errors.New("could not end it") })
	case "leak":
		go func() { select {} }()
	case "panic":
		go panic("on another goroutine, so that no cleanup runs")
		select {}
	case "kill shared":
		sharedRedis.server.proc.signal(os.Kill)
		<-sharedRedis.server.proc.done
	}
}

// However a test process ends, its servers end with it, and Main tells what a
// passing test cannot see.
func TestMainAndTheEndOfTheProcess(t *testing.T) {
	t.Parallel()
	redisBinary(t)
	zookeeperJava(t, jarsOfZooKeeper())
	for how, want := range map[string]string{
		"good":        "PASS",
		"bad end":     "could not end it",
		"leak":        "found unexpected goroutines",
		"panic":       "on another goroutine",
		"kill shared": "ended by itself",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestVictim$")
			cmd.Env = append(os.Environ(), victimEnv+"="+how, "RMQ_TEST_REDIS=", "RMQ_TEST_ZK=", "TMPDIR="+t.TempDir()) // a panic leaves its files
			out, err := cmd.CombinedOutput()
			if !strings.Contains(string(out), want) || (err == nil) != (how == "good") {
				t.Errorf("%v, without %q:\n%s", err, want, out)
			}
			addrs := regexp.MustCompile(`serving on (\S+);`).FindAllStringSubmatch(string(out), -1)
			if addrs == nil {
				t.Fatalf("no server:\n%s", out)
			}
			for _, addr := range addrs {
				mustBeGone(t, addr[1])
			}
		})
	}
}

// mustBeGone waits until nobody listens on addr: the kernel ends orphans promptly,
// yet not before their parent's output is read to its end.
func mustBeGone(t *testing.T, addr string) {
	t.Helper()
	await.True(t, "nobody listens on "+addr, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
}
