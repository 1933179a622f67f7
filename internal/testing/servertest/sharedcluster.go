package servertest

import (
	"fmt"
	"os"
	"testing"
)

var sharedCluster shared[RedisCluster]

// SharedCluster is a Cluster of two masters which all tests of this process use at once, started
// by the first of them. A test keeps to key names of its own and harms no node.
func SharedCluster(t testing.TB) *RedisCluster {
	t.Helper()
	return sharedCluster.get(t, "Cluster", func(t testing.TB) (*RedisCluster, error) {
		return Cluster(&outlived{TB: t}, 2, 0), nil
	})
}

// outlived is a test whose cleanups come at the end of the process.
type outlived struct {
	testing.TB
	err error // of a cleanup
}

func (o *outlived) Cleanup(end func()) {
	AtEnd(func() error {
		o.err = nil
		end()
		return o.err
	})
}

func (o *outlived) Errorf(format string, args ...any) { o.err = fmt.Errorf(format, args...) }

func (o *outlived) TempDir() string {
	dir, err := os.MkdirTemp("", "rmq-cluster-")
	if err != nil {
		o.Fatal(err)
	}
	AtEnd(func() error { return os.RemoveAll(dir) })
	return dir
}
