package producer

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// Two masters send a write to and fro: one is migrating the slot to the other,
// which knows nothing of it (its own half was lost, or "fixed" by a person). The
// write is stored nowhere, so it must fail.
func TestEndlessRedirectionIsNoSuccess(t *testing.T) {
	t.Parallel()
	servers := servertest.Cluster(t, 2, 0)
	for name, cfg := range map[string]Config{"plain": {}, "script": {MaxWaiting: 10}} {
		t.Run(name, func(t *testing.T) {
			rdb := servers.Client(t)
			topic := message.Topic{Name: "loop " + name, Kind: message.KindPriority, Slots: 1}
			key := protocol.StoreKey(topic.Name, 0)
			p := newProducer(t, rdb, cfg)
			p.retryFor = 200 * time.Millisecond
			mustSend(t, p, topic, message.Priority{Content: "first", Priority: 17})
			rdb.Del(ctx, key)
			move := servers.Migrate(t, key)
			if err := move.To.Client(t).Do(ctx, "cluster", "setslot", move.Slot, "stable").Err(); err != nil {
				t.Fatal(err)
			}
			r, err := p.Send(ctx, topic, message.Priority{Content: "x", Priority: 17})
			for _, s := range servers.Nodes() {
				_ = s.Client(t, func(o *redis.Options) {}).Do(ctx, "cluster", "setslot", move.Slot, "stable").Err()
			}
			if n := rdb.ZCard(ctx, key).Val(); err == nil && n == 0 {
				t.Errorf("told as %v, and nothing is stored", r.Outcome)
			}
		})
	}
}

// A Cluster grows: the first hash slot moves to a master that has none yet, which
// CLUSTER SLOTS does not name.
func TestSendsFollowToANewMaster(t *testing.T) {
	t.Parallel()
	servers := servertest.Cluster(t, 2, 0)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	bus := l.Addr().(*net.TCPAddr).Port
	l.Close()
	young := servertest.Redis(t, "--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(bus), "--cluster-config-file", "nodes.conf",
		"--cluster-node-timeout", "500", "--cluster-require-full-coverage", "no")
	_, port, _ := net.SplitHostPort(young.Addr())
	rdb := servers.Client(t)
	topic := message.Topic{Name: "growing", Kind: message.KindPriority, Slots: 1}
	key := protocol.StoreKey(topic.Name, 0)
	p := newProducer(t, rdb, Config{})
	mustSend(t, p, topic, message.Priority{Content: "first", Priority: 17})
	rdb.Del(ctx, key)
	from := servers.MasterOf(t, key)
	if err := from.Client(t).Do(ctx, "cluster", "meet", "127.0.0.1", port, bus).Err(); err != nil {
		t.Fatal(err)
	}
	c, n := from.Client(t), young.Client(t)
	await.True(t, "the new master is one of them", func() bool {
		return strings.Contains(n.ClusterInfo(ctx).Val(), "cluster_state:ok")
	})
	var fromID, youngID string
	fromID, _ = c.Do(ctx, "cluster", "myid").Text()
	youngID, _ = n.Do(ctx, "cluster", "myid").Text()
	slot := servers.Slot(t, key)
	await.Nil(t, "the slot begins to move", func() error {
		err := n.Do(ctx, "cluster", "setslot", slot, "importing", fromID).Err()
		if err == nil {
			err = c.Do(ctx, "cluster", "setslot", slot, "migrating", youngID).Err()
		}
		return err
	})
	begun := time.Now()
	if _, err := p.Send(ctx, topic, message.Priority{Content: "x", Priority: 17}); err != nil {
		t.Errorf("after %v: %v", time.Since(begun), err)
	}
}

// A hash slot moves to another master while nothing is sent to it, and the Cluster's
// client learns of it by itself. That master hangs: only its slots may wait.
func TestStaleLineIsHeldUpByAnotherMaster(t *testing.T) {
	t.Parallel()
	servers := servertest.Cluster(t, 2, 0)
	rdb := servers.Client(t, patient)
	p := newProducer(t, rdb, Config{})
	topic := message.Topic{Name: "stale", Kind: message.KindPriority, Slots: 16}
	contentOf := map[int]string{} // slot: some content of it
	for c := 'a'; len(contentOf) < topic.Slots; c++ {
		r := mustSend(t, p, topic, message.Priority{Content: string(c), Priority: 17})
		contentOf[r.Slot] = string(c)
	}
	p.idle.Wait()
	home := servers.MasterOf(t, protocol.DefinitionKey(topic.Name))
	var there []int
	for slot := range topic.Slots {
		if servers.MasterOf(t, protocol.StoreKey(topic.Name, slot)) == home {
			there = append(there, slot)
		}
	}
	moving, staying := there[0], there[1]
	move := servers.Migrate(t, protocol.StoreKey(topic.Name, moving))
	move.Finish(t)
	await.True(t, "the client knows", func() bool {
		rdb.ReloadState(ctx)
		_, addr, _ := cluster.MasterFor(ctx, rdb, protocol.StoreKey(topic.Name, moving))
		return addr == move.To.Addr()
	})
	mustSend(t, p, topic, message.Priority{Content: contentOf[moving], Priority: 18})
	p.idle.Wait()

	move.To.Pause()
	stuck := make(chan error, 1)
	go func() {
		_, err := p.Send(ctx, topic, message.Priority{Content: contentOf[moving], Priority: 19})
		stuck <- err
	}()
	await.True(t, "the flusher has a flight", p.taking)
	promptly(t, "a send to the other master", func() error {
		_, err := p.Send(ctx, topic, message.Priority{Content: contentOf[staying], Priority: 19})
		return err
	})
	move.To.Resume()
	if err := <-stuck; err != nil {
		t.Error(err)
	}
}

// patient is for a client that would wait for a hung server for ever.
func patient(o *redis.ClusterOptions) { o.ReadTimeout = time.Hour }

// promptly fails the test if do has to wait for a server that hangs.
func promptly(t *testing.T, what string, do func() error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- do() }()
	if err := await.Signal(t, what, done); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// One master hangs. A hash slot moves between two others, so its sends are answered
// with ASK, and they reach the server told, whatever the third does.
func TestRedirectionAsksNoHungMaster(t *testing.T) {
	t.Parallel()
	servers := servertest.Cluster(t, 3, 0)
	rdb := servers.Client(t, patient)
	p := newProducer(t, rdb, Config{})
	topic := message.Topic{Name: "asked", Kind: message.KindPriority, Slots: 1}
	key := protocol.StoreKey(topic.Name, 0)
	mustSend(t, p, topic, message.Priority{Content: "first", Priority: 17})
	rdb.Del(ctx, key)
	move := servers.Migrate(t, key)
	mustSend(t, p, topic, message.Priority{Content: "followed", Priority: 17})
	for _, s := range servers.Nodes() {
		if s != move.From && s != move.To {
			s.Pause()
			defer s.Resume() // or the producer could not be closed
		}
	}
	promptly(t, "a send", func() error {
		_, err := p.Send(ctx, topic, message.Priority{Content: "x", Priority: 17})
		return err
	})
}
