package webtest

import (
	"context"
	"net"
	"os"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

var ctx = context.Background()

// patience is how long a test waits for what must come.
const patience = time.Minute

func TestMain(m *testing.M) {
	for _, v := range []string{"RMQ_REDIS", "RMQ_JOURNAL", "RMQ_ZK", "RMQ_NAMESPACE"} {
		os.Unsetenv(v)
	}
	servertest.Main(m)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// await asks until it is so.
func await(t testing.TB, what string, is func() bool) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for deadline := time.Now().Add(patience); !is(); <-again.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// listenAt listens at an address that was free a moment ago.
func listenAt(t testing.TB, at string) (l net.Listener) {
	t.Helper()
	await(t, "listen at "+at, func() bool {
		var err error
		l, err = net.Listen("tcp", at)
		return err == nil
	})
	return l
}
