package commands

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
)

// A topic goes with all that is in it, if its name is typed, and may be defined anew. While a worker takes from it, it stays.
func TestTopicDelete(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		stocked(t, s.rdb)
		s.text(t, "every", "set", "orders", "hourly", "--content", "planned", "--cron", "@hourly")
		s.text(t, "pause", "orders", "--yes")
		what := "delete topic orders for ever, with 1,204 messages (1 in flight) and 1 plan"
		for _, no := range []string{"", "y\n", "1204\n", "ORDERS\n"} {
			if r := s.answered(no, "topic", "delete", "orders"); r.code != 1 || r.out != "" || r.errs != what+"? Type orders: rmq: nothing was changed\n" {
				t.Errorf("%q: %+v", no, r)
			}
		}
		members := protocol.WorkersKey("orders")
		must.Do(t, s.rdb.HSet(ctx, protocol.DefinitionKey("orders"), "sharing", "redis").Err())
		must.Do(t, s.rdb.ZAdd(ctx, members, redis.Z{Member: "w", Score: float64(time.Now().Add(time.Hour).UnixMilli())}).Err())
		s.refused(t, 1, "1 worker and 0 gateways take from orders: stop them first", "topic", "delete", "orders", "--yes")
		must.Do(t, s.rdb.HSet(ctx, protocol.DefinitionKey("orders"), "sharing", "zookeeper").Err())
		s.refused(t, 1, "it is not known who works at orders: it is shared by ZooKeeper: --zk shows its workers", "topic", "delete", "orders", "--yes")
		must.Do(t, s.rdb.Del(ctx, members).Err())
		must.Do(t, s.rdb.HSet(ctx, protocol.DefinitionKey("orders"), "sharing", "redis").Err())
		meta := protocol.KeysOf("orders", 0).Meta
		must.Do(t, s.rdb.HSet(ctx, meta, "lease", 3_600_000, "until", time.Now().Add(time.Hour).UnixMilli()).Err())
		s.refused(t, 1, "is in flight, by a lease until", "topic", "delete", "orders", "--yes")
		if got := s.objects(t, "stats", "orders")[0]["waiting"].(float64); got != 1200 {
			t.Errorf("%v wait", got)
		}
		must.Do(t, s.rdb.HDel(ctx, meta, "lease", "until").Err())
		if r := s.answered("orders\n", "topic", "delete", "orders"); r.code != 0 || r.out != strings.Replace(what, "delete topic orders for ever", "topic orders is deleted", 1)+"\n" {
			t.Errorf("%+v", r)
		}
		s.refused(t, 1, `no such topic: "orders"; there is none in this Redis`, "topic", "delete", "orders", "--yes")
		s.text(t, "send", "orders", "x", "--kind", "priority", "--priority", "20", "--slots", "8")
		wantJSON(t, s.objects(t, "topic", "delete", "orders", "--yes")[0], `{"messages":1,"plans":0,"topic":"orders"}`)
		if got := s.text(t, "topics"); !strings.HasPrefix(got, "no topics yet") {
			t.Error(got)
		}
	})
}
