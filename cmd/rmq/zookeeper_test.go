package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/servertest"
	"github.com/slotmq/go-rmq/slots"
)

// Workers of topics that are shared by ZooKeeper are seen with --zk, and without it rmq says
// that they are not.
func TestSharedByZooKeeper(t *testing.T) {
	t.Parallel()
	server, zoo := servertest.Redis(t), servertest.SharedZooKeeper(t)
	root := zoo.Chroot(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	c, err := consumer.New(s.rdb, consumer.Config{Worker: "app7", Slots: slots.ZooKeeper(slots.ZooKeeperConfig{Servers: zoo.Servers(), Root: root, Auth: "rmq:hush"})})
	must(t, err)
	must(t, c.Listen(rangeMerge("orders"), consumer.ListenerFunc(func(context.Context, *consumer.Delivery) error { return nil }), consumer.ListenOptions{}))
	must(t, c.Start(ctx))
	defer func() {
		within, cancel := context.WithTimeout(ctx, testPatience)
		defer cancel()
		must(t, c.Close(within))
	}()
	send(t, s.rdb, rangeMerge("orders"), later("x"))

	wantText(t, s.text(t, "stats"), `
	TOPIC  WAITING  DUE  OVERDUE  FLIGHT  RETRY  DEAD  WORKERS
	orders  1  0  -  0  0  0  ?

	orders is shared by ZooKeeper: --zk shows its workers`)
	wantText(t, s.text(t, "workers"), "no workers\norders is shared by ZooKeeper: --zk shows its workers")
	want(t, s.objects(t, "stats")[0]["workers"], "<nil>")
	wantJSON(t, s.objects(t, "workers")[0], `{"unseen_topic":"orders","why":"it is shared by ZooKeeper: --zk shows its workers"}`)

	flags := []string{"--zk", strings.Join(zoo.Servers(), ","), "--zk-root", root, "--zk-auth", "rmq:hush"}
	with := func(args ...string) []string { return append(args, flags...) }
	var workers []map[string]any
	eventually(t, "the worker says that it has all slots", func() bool {
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
