package fleet

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/away"
	"github.com/slotmq/go-rmq/internal/servers/wakeups"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/slots"
)

// Config of a fleet.
type Config struct {
	ID        string        // of the worker; with ZooKeeper, what its ids begin with
	Namespace string        // of all topics
	Sharing   slots.Sharing // for ByZooKeeper
	Lease     time.Duration // of a batch, and how long the worker counts in a list
	Recheck   time.Duration // between comparisons of the definitions

	Redis     redis.UniversalClient
	Scripts   *protocol.Scripts
	Life      *lifetime.Lifetime
	Publisher *wakeups.Publisher
	Topics    []*Topic
	Away      *away.Watch
	Log       *zap.Logger // names the worker
	Logger    *zap.Logger // does not: the ids of sessions are named instead

	// Gained is called when the worker has gained slots of a topic. It must not block, and
	// must not call the fleet.
	Gained func(t *schedule.Topic)

	// HolderDied is called before slots are woken whose holder is proven dead. It may wait
	// for a second.
	HolderDied func(slots []*schedule.Slot)
}

// parts are what both ways are made of.
type parts struct {
	Config
	schedule *schedule.Schedule
	terms    *terms
	agree    func(ctx context.Context) error
}
