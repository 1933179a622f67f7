package consumer

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// All nodes are deleted under running workers. They stop, and say by which command a person
// mends it. After that they go on, without a restart, and nothing is lost or handled by
// two at once.
func TestNodesDeletedUnderAFleet(t *testing.T) {
	t.Parallel()
	rdb, zks := shared(t), servertest.SharedZooKeeper(t)
	topic := topicOf(t, message.KindPriority, 4)
	n := newNotes()
	core, logs := observer.New(zap.ErrorLevel)
	how := sharedBy(t, zks, 3*time.Second)
	cfg := Config{Slots: slots.ZooKeeper(how), Logger: zap.New(core), Backoff: verdict.Schedule(time.Millisecond)}
	handle := n.around(func(context.Context, *Delivery) error { return nil })
	a := work(t, rdb, cfg, topic, handle)
	b := work(t, rdb, cfg, topic, handle)
	await.True(t, "each has half", func() bool { return owned(a) == 2 && owned(b) == 2 })
	first := []string{a.Worker(), b.Worker()}
	conn := zks.Client(t, time.Minute)
	// First what says which tree it is: or a worker may come back while the rest is deleted.
	must.Do(t, conn.Delete(how.Root+"/meta", -1))
	wipe(t, conn, how.Root)

	command := regexp.MustCompile(`in zkCli\.sh: create (\S+) (\{\S+\})`)
	var path, data string
	await.True(t, "the line that says what to do", func() bool {
		for _, entry := range logs.All() {
			if found := command.FindStringSubmatch(fmt.Sprint(entry.ContextMap()["error"])); found != nil {
				path, data = found[1], found[2]
				return true
			}
		}
		return false
	})
	s := newSender(t, rdb, topic)
	contents := numbered("m", 40)
	s.send(t, contents...)
	if _, err := conn.Create(path, []byte(data), 0, zk.WorldACL(zk.PermAll)); err != nil {
		there, _, _ := conn.Get(path)
		t.Fatalf("create %s %s: %v; there is %s", path, data, err, there)
	}
	n.awaitAll(t, contents)
	n.wantOnce(t, contents)
	await.True(t, "each has half again", func() bool { return owned(a) == 2 && owned(b) == 2 })
	for i, c := range []*Consumer{a, b} {
		if c.Worker() == first[i] {
			t.Errorf("%s kept its id", first[i])
		}
	}
}

// wipe deletes all that is below a node, and the node.
func wipe(t *testing.T, conn *zk.Conn, path string) {
	t.Helper()
	for {
		children, _, err := conn.Children(path)
		if err != nil && err != zk.ErrNoNode {
			t.Fatal(err)
		}
		for _, child := range children {
			wipe(t, conn, path+"/"+child)
		}
		if err = conn.Delete(path, -1); err == nil || err == zk.ErrNoNode {
			return
		}
		if strings.Count(path, "/") == 1 && err == zk.ErrNotEmpty {
			return // the workers are about to come back
		}
	}
}

// Start and Close heed their contexts with a ZooKeeper that takes connections and says
// nothing, however long the sessions are.
func TestMuteZooKeeper(t *testing.T) {
	t.Parallel()
	rdb, zks := shared(t), servertest.SharedZooKeeper(t)
	topic := topicOf(t, message.KindPriority, 4)
	for name, lets := range map[string]int{"from the beginning": 0, "after the welcome": 1, "in the middle": 6} {
		proxy := servertest.NewProxy(t, zks.Addr())
		how := sharedBy(t, zks, 10*time.Minute)
		how.Servers = []string{proxy.Addr()}
		c := newConsumer(t, rdb, Config{Slots: slots.ZooKeeper(how)})
		must.Do(t, c.Listen(topic, newNotes().done(), ListenOptions{}))
		var pieces atomic.Int32
		proxy.OnRequest(func([]byte) bool { return int(pieces.Add(1)) <= lets })
		within, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := returns(t, "Start", func() error { return c.Start(within) }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("mute %s: Start gives %v", name, err)
		}
	}
	proxy := servertest.NewProxy(t, zks.Addr())
	how := sharedBy(t, zks, 10*time.Minute)
	how.Servers = []string{proxy.Addr()}
	c, err := New(rdb, Config{Slots: slots.ZooKeeper(how)})
	must.Do(t, err)
	must.Do(t, c.Listen(topicOf(t, message.KindPriority, 4), newNotes().done(), ListenOptions{}))
	start(t, c)
	proxy.Freeze()
	if err := returns(t, "Close", func() error { return closeIn(c, time.Second) }); err == nil {
		t.Error("Close says that all is well")
	}
	proxy.Cut()
	c.running.life.WaitLate()
}
