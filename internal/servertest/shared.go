package servertest

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
)

// shared is the one server of this test process. It is started by the first test
// that asks and stopped by Main.
var shared struct {
	sync.Mutex
	server *Server
	err    error
}

// SharedRedis is a server which all tests of this process use at once, started by
// the first of them. A test keeps to key names of its own and neither flushes nor
// harms the server. RMQ_TEST_REDIS names a server to use instead.
func SharedRedis(t testing.TB) *Server {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = startShared(t)
	}
	if shared.err != nil {
		t.Fatalf("shared Redis: %v", shared.err)
	}
	return shared.server
}

func startShared(t testing.TB) (*Server, error) {
	t.Helper()
	if addr := os.Getenv("RMQ_TEST_REDIS"); addr != "" {
		s := &Server{daemon: daemon{addr: addr, shared: true}}
		if err := s.probe(); err != nil {
			return nil, fmt.Errorf("RMQ_TEST_REDIS=%s: %w", addr, err)
		}
		return s, nil
	}
	path, argv0 := redisBinary(t)              // ends the test when there is none; the next one asks again
	dir, err := os.MkdirTemp("", "rmq-redis-") // not t.TempDir: it outlives this test
	if err != nil {
		return nil, err
	}
	s, err := startRedis(path, argv0, dir, nil)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	s.shared = true
	return s, nil
}

// stopShared ends the shared server and tells if it had ended before, by itself.
func stopShared() error {
	shared.Lock()
	defer shared.Unlock()
	s := shared.server
	shared.server = nil
	if s == nil || s.proc == nil {
		return nil
	}
	err := s.proc.crashed()
	if err != nil {
		err = fmt.Errorf("the shared Redis ended by itself: %w\n%s", err, s.Log())
	}
	s.proc.end(syscall.SIGKILL)
	os.RemoveAll(s.Dir)
	return err
}
