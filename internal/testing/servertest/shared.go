package servertest

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// shared is the one server of its kind in this test process. It is started by the
// first test that asks and stopped by Main.
type shared[S any] struct {
	sync.Mutex
	server *S
	err    error
}

var (
	sharedRedis     shared[Server]
	sharedZooKeeper shared[ZooKeeperServer]

	sharedPostgreSQL, sharedMariaDB shared[Database]
)

// SharedRedis is a server which all tests of this process use at once, started by
// the first of them. A test keeps to key names of its own and neither flushes nor
// harms the server. RMQ_TEST_REDIS names a server to use instead.
func SharedRedis(t testing.TB) *Server {
	t.Helper()
	return sharedRedis.get(t, "Redis", startSharedRedis)
}

// SharedZooKeeper is a server which all tests of this process use at once, started
// by the first of them. A test keeps to a Chroot of its own and does not harm the
// server. RMQ_TEST_ZK names a server to use instead, or several of one ensemble.
func SharedZooKeeper(t testing.TB) *ZooKeeperServer {
	t.Helper()
	return sharedZooKeeper.get(t, "ZooKeeper", startSharedZooKeeper)
}

// get starts the server unless it was tried before.
func (s *shared[S]) get(t testing.TB, name string, start func(testing.TB) (*S, error)) *S {
	t.Helper()
	s.Lock()
	defer s.Unlock()
	if s.server == nil && s.err == nil {
		s.server, s.err = start(t) // ends the test when a program is missing; the next one asks again
	}
	if s.err != nil {
		t.Fatalf("shared %s: %v", name, s.err)
	}
	return s.server
}

func startSharedRedis(t testing.TB) (*Server, error) {
	t.Helper()
	if addr := os.Getenv("RMQ_TEST_REDIS"); addr != "" {
		s := &Server{daemon: daemon{addr: addr, shared: true}}
		if err := s.probe(); err != nil {
			return nil, fmt.Errorf("RMQ_TEST_REDIS=%s: %w", addr, err)
		}
		return s, nil
	}
	path, argv0 := redisBinary(t)
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

func startSharedZooKeeper(t testing.TB) (*ZooKeeperServer, error) {
	t.Helper()
	if list := os.Getenv("RMQ_TEST_ZK"); list != "" {
		servers := strings.Split(list, ",")
		s := &ZooKeeperServer{daemon: daemon{addr: servers[0], shared: true}, servers: servers}
		if _, err := s.status(time.Second); err != nil {
			return nil, fmt.Errorf("RMQ_TEST_ZK=%s: %w", list, err)
		}
		return s, nil
	}
	java, classPath := zookeeperJava(t, jarsOfZooKeeper())
	dir, err := os.MkdirTemp("", "rmq-zookeeper-")
	if err != nil {
		return nil, err
	}
	s := &ZooKeeperServer{daemon: daemon{Dir: dir, shared: true}}
	if err := s.start(java, classPath, nil); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return s, nil
}

// stopShared ends the shared servers and reports if one had ended before, by itself.
func stopShared() error {
	sharedRedis.Lock()
	defer sharedRedis.Unlock()
	sharedZooKeeper.Lock()
	defer sharedZooKeeper.Unlock()
	var errs []error
	if s := sharedRedis.server; s != nil {
		errs = append(errs, s.endShared())
	}
	if s := sharedZooKeeper.server; s != nil {
		errs = append(errs, s.endShared())
	}
	sharedRedis.server, sharedZooKeeper.server = nil, nil
	for _, kind := range []*shared[Database]{&sharedPostgreSQL, &sharedMariaDB} {
		kind.Lock()
		if db := kind.server; db != nil {
			errs = append(errs, db.endShared())
		}
		kind.server = nil
		kind.Unlock()
	}
	return errors.Join(errs...)
}

func (d *daemon) endShared() error {
	if d.proc == nil {
		return nil
	}
	err := d.proc.crashed()
	if err != nil {
		err = fmt.Errorf("the shared %s ended by itself: %w\n%s", d.Dir, err, d.Log())
	}
	d.proc.end(syscall.SIGKILL)
	os.RemoveAll(d.Dir)
	return err
}
