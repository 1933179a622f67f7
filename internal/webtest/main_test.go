package webtest

import (
	"context"
	"net"
	"os"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

var ctx = context.Background()

func TestMain(m *testing.M) {
	for _, v := range []string{"RMQ_REDIS", "RMQ_JOURNAL", "RMQ_ZK", "RMQ_NAMESPACE"} {
		os.Unsetenv(v)
	}
	servertest.AtOnce(3) // one browser draws all their pages
	servertest.Main(m)
}

// listenAt listens at an address that was free a moment ago.
func listenAt(t testing.TB, at string) (l net.Listener) {
	t.Helper()
	await.True(t, "listen at "+at, func() bool {
		var err error
		l, err = net.Listen("tcp", at)
		return err == nil
	})
	return l
}
