package webtest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
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

// serve serves one page, to try a check with.
func serve(t testing.TB, body string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html>", body)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}
