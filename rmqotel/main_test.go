package rmqotel

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

func TestMain(m *testing.M) {
	cluster.Patience = 4 * time.Second // a machine that is busy
	servertest.Main(m)
}
