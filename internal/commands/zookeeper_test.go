package commands

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// A topic of another namespace has its nodes at another path of ZooKeeper. Nothing is looked for at
// the path of this one, and above all it names no command that would write there.
func TestTopicOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	server, zoo := servertest.Redis(t), servertest.SharedZooKeeper(t)
	root := zoo.Chroot(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	flags := []string{"--zk", strings.Join(zoo.Servers(), ","), "--zk-root", root}
	with := func(args ...string) []string { return append(args, flags...) }
	start := func(namespace, topic string) *consumer.Consumer {
		c, err := consumer.New(s.rdb, consumer.Config{Worker: "app7", Namespace: namespace, Slots: slots.ZooKeeper(slots.ZooKeeperConfig{Servers: zoo.Servers(), Root: root})})
		must.Do(t, err)
		must.Do(t, c.Listen(rangeMerge(topic), consumer.ListenerFunc(func(context.Context, *consumer.Delivery) error { return nil }), consumer.ListenOptions{}))
		must.Do(t, c.Start(ctx))
		t.Cleanup(func() { must.Do(t, c.Close(await.CleanupContext(t))) })
		return c
	}
	shop := start("shop", "orders").Worker()
	inShop := func(args ...string) []string { return append(with(args...), "--namespace", "shop") }
	await.True(t, "its worker has all slots", func() bool {
		return strings.Contains(s.text(t, inShop("slots", "orders")...), shop) && !strings.Contains(s.text(t, inShop("slots", "orders")...), "none")
	})
	if out := flat(s.text(t, inShop("doctor")...)); !strings.Contains(out, "zookeeper: 1 worker, coordinator "+shop) || !strings.Contains(out, "definitions: 1 topic ") {
		t.Error(out)
	}

	look := func() {
		t.Helper()
		out := flat(s.text(t, with("doctor")...)) // it fails if the exit code is not 0
		if !strings.Contains(out, "zookeeper: topic shop:orders is of namespace shop, and not looked at in ZooKeeper give --namespace shop ") ||
			strings.Contains(out, "create ") || strings.Contains(out, "set /") || strings.Contains(out, "again") {
			t.Error(out)
		}
		if out := flat(s.text(t, with("stats", "shop:orders")...)); !strings.Contains(out, "?") || !strings.Contains(out, "shop:orders is of namespace shop: --namespace shop shows its workers") {
			t.Error(out)
		}
		if out := flat(s.text(t, with("slots", "shop:orders")...)); strings.Count(out, "?") != 4 || strings.Contains(out, "none") || !strings.Contains(out, "--namespace shop shows its workers") {
			t.Error(out)
		}
		if out := flat(s.text(t, with("workers")...)); strings.Contains(out, shop) || !strings.Contains(out, "shop:orders is of namespace shop: --namespace shop shows its workers") {
			t.Error(out)
		}
		want(t, field(s.objects(t, with("slots", "shop:orders")...), "worker_unseen"), "[true true true true]")
	}
	look() // no worker is at the path without a namespace
	start("", "mails")
	await.True(t, "there is a coordinator", func() bool { return !strings.Contains(s.text(t, with("slots", "mails")...), "none") })
	look()
	want(t, s.objects(t, with("stats", "mails")...)[0]["workers"], "1")
	if out := flat(s.text(t, "slots", "shop:orders")); !strings.Contains(out, "--zk and --namespace shop show its workers") || strings.Contains(out, "none") {
		t.Error(out)
	}
}

// The command that brings back a tree that was deleted stands on a line of its own, however
// narrow the screen is, and works as it stands there.
func TestCommandThatMendsATree(t *testing.T) {
	t.Parallel()
	server, zoo := servertest.Redis(t), servertest.SharedZooKeeper(t)
	root := zoo.Chroot(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	c, err := consumer.New(s.rdb, consumer.Config{Slots: slots.ZooKeeper(slots.ZooKeeperConfig{Servers: zoo.Servers(), Root: root})})
	must.Do(t, err)
	must.Do(t, c.Listen(rangeMerge("orders"), consumer.ListenerFunc(func(context.Context, *consumer.Delivery) error { return nil }), consumer.ListenOptions{}))
	must.Do(t, c.Start(ctx))
	must.Do(t, c.Close(await.Context(t)))
	conn := zoo.Client(t, await.Patience)
	must.Do(t, conn.Delete(root+"/meta", -1))

	doctor := []string{"doctor", "--zk", strings.Join(zoo.Servers(), ","), "--zk-root", root}
	r := call(append([]string{"--redis", s.url}, doctor...)...)
	line := regexp.MustCompile(`(?m)^ +create (\S+) (\S+)$`).FindStringSubmatch(r.out)
	if r.code != 1 || line == nil {
		t.Fatalf("%+v", r)
	}
	for _, o := range objectsOf(t, call(append([]string{"--redis", s.url, "--json"}, doctor...)...).out) {
		if o["check"] == "definitions" {
			want(t, o["command"], "create "+line[1]+" "+line[2])
		}
	}
	_, err = conn.Create(line[1], []byte(line[2]), 0, zk.WorldACL(zk.PermAll))
	must.Do(t, err)
	if out := flat(s.text(t, doctor...)); !strings.Contains(out, "definitions: 1 topic ") || strings.Contains(out, "create") {
		t.Error(out)
	}
}

// Workers of topics that are shared by ZooKeeper are seen with --zk, and without it rmq says
// that they are not.
func TestSharedByZooKeeper(t *testing.T) {
	t.Parallel()
	server, zoo := servertest.Redis(t), servertest.SharedZooKeeper(t)
	root := zoo.Chroot(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	c, err := consumer.New(s.rdb, consumer.Config{Worker: "app7", Slots: slots.ZooKeeper(slots.ZooKeeperConfig{Servers: zoo.Servers(), Root: root, Auth: "rmq:hush"})})
	must.Do(t, err)
	must.Do(t, c.Listen(rangeMerge("orders"), consumer.ListenerFunc(func(context.Context, *consumer.Delivery) error { return nil }), consumer.ListenOptions{}))
	must.Do(t, c.Start(ctx))
	defer func() { must.Do(t, c.Close(await.Context(t))) }()
	send(t, s.rdb, rangeMerge("orders"), later("x"))

	wantText(t, s.text(t, "stats"), `
	TOPIC  WAITING  DUE  OVERDUE  FLIGHT  RETRY  DEAD  WORKERS
	orders  1  0  -  0  0  0  ?

	orders is shared by ZooKeeper: --zk shows its workers`)
	wantText(t, s.text(t, "workers"), "no workers\norders is shared by ZooKeeper: --zk shows its workers")
	want(t, s.objects(t, "stats")[0]["workers"], "<nil>")
	if out := s.text(t, "slots", "orders"); strings.Count(out, "?") != 4 || strings.Contains(out, "none") || !strings.Contains(out, "--zk shows its workers") {
		t.Error(out)
	}
	wantJSON(t, s.objects(t, "workers")[0], `{"unseen_topic":"orders","why":"it is shared by ZooKeeper: --zk shows its workers"}`)

	flags := []string{"--zk", strings.Join(zoo.Servers(), ","), "--zk-root", root, "--zk-auth", "rmq:hush"}
	with := func(args ...string) []string { return append(args, flags...) }
	var workers []map[string]any
	await.True(t, "the worker says that it has all slots", func() bool {
		workers = s.objects(t, with("workers")...)
		return len(workers) == 1 && fmt.Sprint(workers[0]["held"]) == "map[orders:[0 1 2 3]]"
	})
	id := workers[0]["worker"].(string)
	wantText(t, s.text(t, with("workers")...), `
	WORKER  TOPIC  SLOTS  WHICH  STATE
	WORKER  orders  4  0-3`, id)
	want(t, s.objects(t, with("stats")...)[0]["workers"], "1")
	want(t, field(s.objects(t, with("slots", "orders")...), "worker"), "["+strings.Join([]string{id, id, id, id}, " ")+"]")
	if out := s.text(t, with("doctor")...); !strings.Contains(out, "coordinator") || strings.Contains(out, "hush") {
		t.Error(out)
	}
	r := s.call(t, with("workers", "--zk", "127.0.0.1:1")[:3]...)
	if r.code != 1 || !strings.Contains(r.errs, "ask ZooKeeper who works") || strings.Count(r.errs, "\n") != 1 || strings.Contains(r.errs, "hush") {
		t.Errorf("%+v", r)
	}
}

// A topic that was shared out by ZooKeeper may be defined anew, with other slots, while its coordinator goes on with other topics.
func TestTopicDeleteWithZooKeeper(t *testing.T) {
	t.Parallel()
	server, zoo := servertest.Redis(t), servertest.SharedZooKeeper(t)
	root := zoo.Chroot(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	with := func(args ...string) []string {
		return append(args, "--zk", strings.Join(zoo.Servers(), ","), "--zk-root", root)
	}
	start := func(topics ...message.Topic) *consumer.Consumer {
		c, err := consumer.New(s.rdb, consumer.Config{Slots: slots.ZooKeeper(slots.ZooKeeperConfig{Servers: zoo.Servers(), Root: root})})
		must.Do(t, err)
		for _, topic := range topics {
			must.Do(t, c.Listen(topic, consumer.ListenerFunc(func(context.Context, *consumer.Delivery) error { return nil }), consumer.ListenOptions{}))
		}
		must.Do(t, c.Start(ctx))
		return c
	}
	ends := func(c *consumer.Consumer) { must.Do(t, c.Close(await.CleanupContext(t))) }
	shared := func(topic string, slots int) {
		await.True(t, fmt.Sprint("a worker has all slots of ", topic), func() bool {
			out := s.text(t, with("slots", topic)...)
			return strings.Count(out, "\n") == 1+slots && !strings.Contains(out, "none")
		})
	}
	coordinates := start(rangeMerge("mails"))
	defer ends(coordinates)
	works := start(rangeMerge("orders"))
	shared("orders", 4)
	s.refused(t, 1, "1 worker and 0 gateways take from orders", with("topic", "delete", "orders", "--yes")...)
	ends(works)
	s.text(t, with("topic", "delete", "orders", "--yes")...)
	again := start(message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 8})
	defer ends(again)
	shared("orders", 8)
	shared("mails", 4)
}
