package protocol_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// lanes are servers for tests that run in parallel: each has one for itself as long as it lasts, and
// another one has it then.
type lanes struct {
	testing.TB // whose end is that of the servers
	sync.Mutex
	free []*redis.Client
}

// take is a server that nobody has now. It is a new one only if all others are taken.
func (l *lanes) take(t testing.TB) *redis.Client {
	l.Lock()
	defer l.Unlock()
	if len(l.free) == 0 {
		l.free = append(l.free, near(l.TB))
	}
	rdb := l.free[len(l.free)-1]
	l.free = l.free[:len(l.free)-1]
	t.Cleanup(func() {
		l.Lock()
		defer l.Unlock()
		l.free = append(l.free, rdb)
	})
	return rdb
}

// near is a client of a Redis of the test's own, by a socket in the file system: for tests of many
// small steps, each of which waits for its answer, that is a third cheaper.
func near(t testing.TB) *redis.Client {
	dir, err := os.MkdirTemp("", "rmq") // not t.TempDir, whose path may be too long for a socket
	must.Do(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	return servertest.Redis(t, "--unixsocket", socket).Client(t, func(o *redis.Options) {
		o.Network, o.Addr = "unix", socket
		o.ReadTimeout, o.MaxRetries = await.Patience, -1 // what was done must not be done again
	})
}
