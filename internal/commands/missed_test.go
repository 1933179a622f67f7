package commands

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// partOf calls rmq, which is to show one thing and to say that it cannot show another, with
// as many lines on stderr.
func (s at) partOf(t testing.TB, line string, shows string, says ...string) {
	t.Helper()
	r := s.call(t, strings.Fields(line)...)
	if r.code != 1 || !strings.Contains(r.out, shows) || strings.Count(r.errs, "\n") != len(says) {
		t.Errorf("rmq %s: exit code %d, want 1 and %q\n%s%s", line, r.code, shows, r.out, r.errs)
	}
	for _, text := range says {
		if !strings.Contains(r.errs, text) {
			t.Errorf("rmq %s: %q is not in %s", line, text, r.errs)
		}
	}
}

// A key of a wrong type hides no other slot and no other topic.
func TestWrongTypeHidesNoOther(t *testing.T) {
	const dead = "deadTwo" // its own slot is 0
	onEach(t, func(t *testing.T, s at) {
		for _, name := range []string{"mails", "orders", "votes"} {
			topic := message.Topic{Name: name, Kind: message.KindPriority, Slots: 2}
			for n := range 8 {
				send(t, s.rdb, topic, message.Priority{Content: fmt.Sprint("m", n), Priority: 20})
			}
			must.Do(t, s.rdb.ZAdd(ctx, protocol.KeysOf(name, 0).Dead, redis.Z{Member: dead, Score: 1_700_000_000_000}).Err())
		}
		bad := protocol.KeysOf("orders", 1).Dead
		must.Do(t, s.rdb.HSet(ctx, bad, "f", "v").Err())
		says := "orders slot 1: "
		s.partOf(t, "stats", "1 of 2 slots", says)
		s.partOf(t, "stats", "\nvotes ", bad)
		s.partOf(t, "stats --slots", "\nvotes ", says)
		s.partOf(t, "slots orders", "\n   0  none", says)
		s.partOf(t, "dead list orders", dead, says)
		s.partOf(t, "dead list orders --limit 1", dead, says)
		s.partOf(t, "dead list orders --content none", "where it could be looked", says)
		s.partOf(t, "peek orders", "priority 20", says)
		if out := s.text(t, "explain", "orders", dead); !strings.Contains(out, "died") { // its own slot has it
			t.Error(out)
		}
		s.partOf(t, "explain orders nowhere", "", says, "nowhere is not here where it could be looked")
		s.partOf(t, "dead show orders "+dead, "died", says)
		s.partOf(t, "stats --json", `{"topic":"orders","slot":1,"error":"`, says)
		s.partOf(t, "stats --json", `"read_slots":1`, says)
		s.partOf(t, "dead list orders --json", `{"topic":"orders","slot":1,"error":"`, says)

		// Nobody could go on with an export that has a gap.
		if r := s.call(t, "dead", "export", "orders"); r.code != 1 || r.out != "" {
			t.Errorf("%+v", r)
		}
		must.Do(t, s.rdb.HSet(ctx, protocol.DefinitionKey("orders"), "sharing", "redis").Err())
		must.Do(t, s.rdb.HSet(ctx, protocol.WorkersKey("orders"), "f", "v").Err())
		s.partOf(t, "workers", "no workers where it could be looked", "orders: read the workers in "+protocol.WorkersKey("orders"))
		s.partOf(t, "slots orders", "\n   0  ?", "orders: ", says)
	})
}

// A master that hangs hides only what it has, and its line says how much that is.
func TestHangingMasterHidesNoOther(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 3, 0)
	rdb := c.Client(t)
	var addrs []string
	for _, n := range c.Nodes() {
		addrs = append(addrs, n.Addr())
	}
	s := at{rdb, "redis-cluster://" + strings.Join(addrs, ",") + "?read_timeout=5s"}
	topic := message.Topic{Name: "mails", Kind: message.KindPriority, Slots: 16}
	needed := []string{protocol.TopicsKey, protocol.DefinitionKey(topic.Name), protocol.WorkersKey(topic.Name)}
	hanging := c.Nodes()[slices.IndexFunc(c.Nodes(), func(n *servertest.Server) bool {
		return !slices.ContainsFunc(needed, func(key string) bool { return c.MasterOf(t, key) == n })
	})]
	hidden := 0
	for slot := range topic.Slots {
		if k := protocol.KeysOf(topic.Name, slot); c.MasterOf(t, k.Store) == hanging {
			hidden++
		} else {
			must.Do(t, rdb.ZAdd(ctx, k.Dead, redis.Z{Member: fmt.Sprint("deadOne", slot), Score: 1_700_000_000_000}).Err())
		}
	}
	for n := range 64 {
		send(t, rdb, topic, message.Priority{Content: fmt.Sprint("m", n), Priority: 20})
	}
	hanging.Pause()
	defer hanging.Resume()
	says := fmt.Sprintf("server %s does not answer: %d slots of mails are not shown", hanging.Addr(), hidden)
	var calls sync.WaitGroup // each waits for the one that hangs
	calls.Go(func() { s.partOf(t, "stats", fmt.Sprintf("%d of 16 slots", 16-hidden), says) })
	calls.Go(func() { s.partOf(t, "dead list mails", "deadOne", says) })
	calls.Go(func() {
		s.partOf(t, "explain mails nowhere --json", `"server":"`+hanging.Addr()+`"`, says, "where it could be looked")
	})
	calls.Wait()
}

// Nobody but its master knows which topics there are. It is named; a topic that is named is
// shown.
func TestHangingMasterOfTheList(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 3, 0)
	rdb := c.Client(t)
	hanging := c.MasterOf(t, protocol.TopicsKey)
	name := "mails"
	for n := 0; c.MasterOf(t, protocol.DefinitionKey(name)) == hanging; n++ {
		name = fmt.Sprint("mails", n)
	}
	topic := message.Topic{Name: name, Kind: message.KindPriority, Slots: 16}
	for n := range 64 {
		send(t, rdb, topic, message.Priority{Content: fmt.Sprint("m", n), Priority: 20})
	}
	var addrs []string
	for _, n := range c.Nodes() {
		addrs = append(addrs, n.Addr())
	}
	s := at{rdb, "redis-cluster://" + strings.Join(addrs, ",") + "?read_timeout=5s"}
	hanging.Pause()
	defer hanging.Resume()
	var calls sync.WaitGroup // each waits for the one that hangs
	for _, line := range []string{"stats", "topics"} {
		calls.Go(func() {
			s.partOf(t, line, "", "list topics in "+protocol.TopicsKey+": server "+hanging.Addr()+" does not answer")
		})
	}
	calls.Go(func() { s.partOf(t, "stats "+name, "of 16 slots", "server "+hanging.Addr()+" does not answer: ") })
	calls.Wait()
}
