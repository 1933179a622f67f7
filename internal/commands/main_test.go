package commands

import (
	"os"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

func TestMain(m *testing.M) {
	// What the person who runs the tests uses must not be touched by them.
	for _, v := range []string{"RMQ_REDIS", "RMQ_JOURNAL", "RMQ_ZK", "RMQ_ZK_ROOT", "RMQ_ZK_AUTH", "RMQ_NAMESPACE", "NO_COLOR"} {
		os.Unsetenv(v)
	}
	program.Patience, withJournal.Patience, cluster.Patience = await.Patience, await.Patience, 4*time.Second
	servertest.Main(m)
}
