package commands

import (
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// One master of a Cluster hangs: what the others have is shown all the same, and by the
// doctor which one it is.
func TestOneMasterHangs(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 3, 0)
	rdb := c.Client(t)
	mails := message.Topic{Name: "mails", Kind: message.KindPriority, Slots: 1}
	send(t, rdb, mails, message.Priority{Content: "a", Priority: 20})
	k := protocol.KeysOf(mails.Name, 0)
	must.Do(t, rdb.ZAdd(ctx, k.Dead, redis.Z{Member: "b", Score: 1_700_000_000_000}).Err())
	var needed []string
	for _, key := range []string{protocol.TopicsKey, protocol.DefinitionKey(mails.Name), k.Store, protocol.WorkersKey(mails.Name)} {
		needed = append(needed, c.MasterOf(t, key).Addr())
	}
	n := slices.IndexFunc(c.Nodes(), func(s *servertest.Server) bool { return !slices.Contains(needed, s.Addr()) })
	if n < 0 {
		t.Fatalf("no master can be spared: %v", needed) // the keys above are always at the same ones
	}
	hanging := c.Nodes()[n]
	hanging.Pause()
	defer hanging.Resume()
	var addrs []string
	for _, n := range c.Nodes() {
		addrs = append(addrs, n.Addr())
	}
	s := at{rdb, "redis-cluster://" + strings.Join(addrs, ",")}
	for _, line := range []struct{ args, says string }{
		{"topics", "mails"}, {"explain mails a", "priority 20"}, {"dead list mails", "b"}, {"dead requeue mails --dry-run", "would requeue 1"},
	} {
		if out := s.text(t, strings.Fields(line.args)...); !strings.Contains(out, line.says) {
			t.Errorf("rmq %s: %s", line.args, out)
		}
	}
	r := s.call(t, "doctor", "--wide")
	if r.code != 1 || !strings.Contains(r.out, "server "+hanging.Addr()+": ") || !strings.Contains(r.out, "mails (1)") {
		t.Errorf("%+v", r)
	}
}
