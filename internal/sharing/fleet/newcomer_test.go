package fleet

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// While a worker that is not in the list holds a batch, no newcomer comes in.
func TestStrangersHoldBatches(t *testing.T) {
	t.Parallel()
	ctx, rdb := context.Background(), servertest.Redis(t).Client(t)
	n := &newcomers{&parts{Config: Config{Redis: rdb, Lease: time.Hour}}}
	for _, c := range []struct {
		what, holder string
		inFlight     bool
		members      []string
		held         bool
	}{
		{"a batch of a stranger", "ghost", true, []string{"a", "b"}, true},
		{"a slot that still names it", "ghost", false, []string{"a", "b"}, false},
		{"a batch of a member", "ghost", true, []string{"a", "ghost"}, false},
		{"a batch in the place of a hung one", "ghost+2", true, []string{"ghost"}, false},
		{"a batch of one whose name looks like that", "ghost+x", true, []string{"ghost"}, true},
	} {
		must.Do(t, rdb.FlushAll(ctx).Err())
		topic := &Topic{Topic: message.Topic{Name: "orders", Slots: 2 * slotsAtOnce}, Qualified: "orders"}
		keys := protocol.KeysOf("orders", topic.Slots-1)
		must.Do(t, rdb.HSet(ctx, keys.Meta, "holder", c.holder).Err())
		if c.inFlight {
			must.Do(t, rdb.ZAdd(ctx, keys.Prepare, redis.Z{Score: 1, Member: "x"}).Err())
		}
		if held := n.heldByStrangers(ctx, []*entry{{topic: topic, members: c.members}}); held[topic] != c.held {
			t.Errorf("%s: %t", c.what, held[topic])
		}
	}
}
