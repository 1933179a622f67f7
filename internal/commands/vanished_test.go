package commands

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

func TestVanishedWorkersAreShown(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	atRest(t, s.rdb, message.KindFixedTime)
	gone := func(n int, ago time.Duration) {
		t.Helper()
		must.Do(t, s.rdb.ZAdd(ctx, protocol.GoneKey("orders"), redis.Z{Score: float64(time.Now().Add(-ago).UnixMilli()), Member: fmt.Sprint("app8-", n, "-2")}).Err())
	}
	if out := s.text(t, "workers"); strings.Contains(out, "last seen") {
		t.Error(out)
	}
	gone(0, 3*time.Minute)
	if out := s.text(t, "workers"); !strings.Contains(steady(out), "\n\napp8-0-2 was last seen about SPAN ago, at orders; it was not closed\n") {
		t.Error(out)
	}
	all := s.objects(t, "workers")
	if o := all[len(all)-1]; len(all) != 2 || o["vanished_worker"] != "app8-0-2" || fmt.Sprint(o["topics"]) != "[orders]" || o["until"] == nil {
		t.Errorf("%v", all)
	}
	for n := range 11 {
		gone(n, time.Hour)
	}
	if out := s.text(t, "workers"); strings.Count(out, "was last seen about 1h ago") != 10 || !strings.Contains(out, "\nand 1 worker before, within a day\n") {
		t.Error(out)
	}
	must.Do(t, s.rdb.Del(ctx, protocol.WorkersKey("orders")).Err())
	if out := s.text(t, "workers"); !strings.HasPrefix(out, "no workers\napp8-") {
		t.Error(out)
	}
}
