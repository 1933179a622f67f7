package inspector

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// found expects a check with words in its detail.
func wantCheck(t testing.TB, checks []doctor.Check, name string, level doctor.Level, words ...string) {
	t.Helper()
	n := slices.IndexFunc(checks, func(c doctor.Check) bool { return c.Name == name })
	if n < 0 {
		t.Errorf("no check %q in %+v", name, checks)
		return
	}
	c := checks[n]
	if name == "connection" && level == doctor.OK && c.Level == doctor.Warn && strings.Contains(c.Detail, "answers in ") {
		return // slowly, as the machine is busy
	}
	if c.Level != level || (c.Level == doctor.OK) != (c.Advice == "") || strings.Contains(c.Detail+c.Advice, "\n") || c.Detail == "" {
		t.Errorf("%+v, want %s", c, level)
	}
	for _, w := range words {
		if !strings.Contains(c.Detail, w) {
			t.Errorf("%+v, want %q", c, w)
		}
	}
}

func TestDoctorFindsNothing(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		checks := i.Doctor(ctx)
		var names []string
		for _, c := range checks {
			names = append(names, c.Name)
		}
		want := []string{"connection", "version", "role", "rights", "persistence", "eviction", "memory", "replicas", "clock", "definitions", "workers", "slots", "handlers", "plans", "paused", "limited", "dead"}
		if !slices.Equal(names, want) {
			t.Errorf("%v, want %v", names, want)
		}
		for _, c := range checks {
			level, words := doctor.OK, ""
			switch c.Name { // of a server as the tests have it
			case "persistence":
				level, words = doctor.Warn, "no append-only file"
			case "replicas":
				level, words = doctor.Warn, "none"
			case "rights":
				words = "no topics yet"
			}
			wantCheck(t, checks, c.Name, level, words)
		}
		define(t, rdb, message.Topic{Name: "orders", Kind: message.KindPriority})
		checks = i.Doctor(ctx)
		wantCheck(t, checks, "rights", doctor.OK, "1 topic")
		wantCheck(t, checks, "definitions", doctor.OK, "1 topic")
		wantCheck(t, checks, "dead", doctor.OK, "no message")
	})
}

func TestDoctorLooksAtTopics(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		orders := define(t, rdb, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4})
		mails := define(t, rdb, message.Topic{Name: "mails", Kind: message.KindFixedTime, Slots: 4})
		worked := message.Topic{Name: "worked", Kind: message.KindPriority, Slots: 4}
		zadd(t, rdb, protocol.StoreKey(orders.Name, 1), "x", 17)
		zadd(t, rdb, protocol.StoreKey(mails.Name, 1), "later", time.Now().Add(time.Hour).UnixMilli())
		work(t, rdb, consumer.Config{}, worked, idle)
		must.Do(t, rdb.HSet(ctx, protocol.KeysOf(worked.Name, 2).Meta, "paused", time.Now().UnixMilli()).Err())
		zadd(t, rdb, protocol.StoreKey(worked.Name, 2), "x", 17)
		zadd(t, rdb, protocol.KeysOf(mails.Name, 0).Dead, binary, time.Now().UnixMilli())
		zadd(t, rdb, protocol.KeysOf(mails.Name, 3).Dead, binary, time.Now().UnixMilli())
		checks := i.Doctor(ctx)
		wantCheck(t, checks, "workers", doctor.Warn, "topic orders has 1 due and no worker")
		wantCheck(t, checks, "paused", doctor.Warn, "1 slot: worked (1)")
		wantCheck(t, checks, "dead", doctor.Warn, "2 messages: mails (2)")
		for _, c := range checks {
			if c.Name == "workers" && (strings.Contains(c.Detail, "mails") || strings.Contains(c.Detail, "worked")) {
				t.Errorf("%+v", c)
			}
		}
		must.Do(t, rdb.SAdd(ctx, protocol.TopicsKey, "missing").Err())
		must.Do(t, rdb.Del(ctx, protocol.StoreKey(orders.Name, 1)).Err())
		must.Do(t, rdb.HSet(ctx, protocol.StoreKey(orders.Name, 1), "x", 17).Err())
		checks = i.Doctor(ctx)
		wantCheck(t, checks, "definitions", doctor.Fail, "topic missing: rmq:def{missing} is missing")
		wantCheck(t, checks, "messages", doctor.Fail, "orders_1")
		wantCheck(t, checks, "dead", doctor.Warn, "mails (2)")
		must.Do(t, rdb.Del(ctx, protocol.TopicsKey).Err())
		must.Do(t, rdb.Set(ctx, protocol.TopicsKey, "x", 0).Err())
		wantCheck(t, i.Doctor(ctx), "definitions", doctor.Fail, protocol.TopicsKey)
	})
}

func TestDoctorLooksAtServers(t *testing.T) {
	t.Parallel()
	good := servertest.Redis(t, "--appendonly", "yes", "--maxmemory", "1gb", "--repl-diskless-sync-delay", "0")
	host, port, _ := strings.Cut(good.Addr(), ":")
	replica := servertest.Redis(t, "--replicaof", host+" "+port)
	admin := good.Client(t)
	await.True(t, "the replica", func() bool {
		return strings.Contains(admin.Info(ctx, "replication").Val(), "state=online")
	})
	checks := newInspector(t, good.Client(t), Config{}).Doctor(ctx)
	wantCheck(t, checks, "connection", doctor.OK, "the server answers in ")
	wantCheck(t, checks, "version", doctor.OK, "Redis ")
	wantCheck(t, checks, "role", doctor.OK)
	wantCheck(t, checks, "persistence", doctor.OK)
	wantCheck(t, checks, "eviction", doctor.OK)
	wantCheck(t, checks, "memory", doctor.OK, "of maxmemory")
	wantCheck(t, checks, "replicas", doctor.OK, "1 in sync")
	wantCheck(t, checks, "clock", doctor.OK)

	checks = newInspector(t, replica.Client(t), Config{}).Doctor(ctx)
	wantCheck(t, checks, "role", doctor.Fail, "read-only replica")

	bad := servertest.Redis(t, "--maxmemory-policy", "allkeys-lru", "--maxmemory", "850kb") // about as much as a server has at the start
	checks = newInspector(t, bad.Client(t), Config{}).Doctor(ctx)
	wantCheck(t, checks, "eviction", doctor.Fail, "allkeys-lru")
	n := slices.IndexFunc(checks, func(c doctor.Check) bool { return c.Name == "memory" })
	if checks[n].Level == doctor.OK {
		t.Errorf("%+v", checks[n])
	}

	define(t, admin, message.Topic{Name: "orders", Kind: message.KindPriority})
	must.Do(t, admin.Do(ctx, "acl", "setuser", "few", "on", ">x", "~*", "&*", "+@all", "-zrem").Err())
	must.Do(t, admin.Do(ctx, "acl", "setuser", "blind", "on", ">x", "~*", "&*", "+@all", "-info").Err())
	must.Do(t, admin.Do(ctx, "acl", "setuser", "none", "on", ">x", "+ping").Err())
	as := func(user string) []doctor.Check {
		rdb := good.Client(t, func(o *redis.Options) { o.Username, o.Password = user, "x" })
		return newInspector(t, rdb, Config{}).Doctor(ctx)
	}
	checks = as("few")
	wantCheck(t, checks, "rights", doctor.Fail, `Redis user "few" lacks rights: +zrem`)
	wantCheck(t, checks, "definitions", doctor.OK)
	wantCheck(t, as("blind"), "memory", doctor.Warn, "not known", "info")
	wantCheck(t, as("none"), "connection", doctor.Fail, `grant Redis user "none" +time`)
	wantCheck(t, as("nobody"), "connection", doctor.Fail, `Redis does not know user "nobody"`)

	gone := servertest.Redis(t)
	gone.Kill()
	checks = newInspector(t, gone.Client(t), Config{}).Doctor(ctx)
	if len(checks) != 1 {
		t.Errorf("%+v", checks)
	}
	wantCheck(t, checks, "connection", doctor.Fail) // refused, or on a busy machine too late
}

// By Sentinels it looks at the master that they name.
func TestDoctorBySentinels(t *testing.T) {
	t.Parallel()
	g := servertest.Sentinel(t)
	checks := newInspector(t, g.Client(t), Config{}).Doctor(ctx)
	wantCheck(t, checks, "connection", doctor.OK)
	wantCheck(t, checks, "role", doctor.OK)
	wantCheck(t, checks, "replicas", doctor.OK, "1 in sync")
}

// One master that is gone hides nothing of the others.
func TestDoctorOfACluster(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 3, 0)
	rdb := c.Client(t, func(o *redis.ClusterOptions) { o.DialerRetries, o.MaxRetries = 1, -1 })
	i := newInspector(t, rdb, Config{})
	topic := define(t, rdb, message.Topic{Name: "orders", Kind: message.KindPriority})
	wantCheck(t, i.Doctor(ctx), "connection", doctor.OK, "3 masters answer in ")
	var spare *servertest.Server
	for _, s := range c.Nodes() {
		if s.Addr() != c.MasterOf(t, protocol.TopicsKey).Addr() && s.Addr() != c.MasterOf(t, protocol.DefinitionKey(topic.Name)).Addr() {
			spare = s
		}
	}
	must.Do(t, spare.Client(t).ConfigSet(ctx, "maxmemory-policy", "allkeys-lru").Err())
	checks := i.Doctor(ctx)
	wantCheck(t, checks, "eviction", doctor.Fail, "server "+spare.Addr()+": maxmemory-policy allkeys-lru")
	wantCheck(t, checks, "replicas", doctor.Warn, "each server: none")
	var two []string
	for _, s := range c.Nodes()[1:] {
		must.Do(t, s.Client(t).ConfigSet(ctx, "maxmemory-policy", "allkeys-random").Err())
		two = append(two, s.Addr())
	}
	must.Do(t, c.Nodes()[0].Client(t).ConfigSet(ctx, "maxmemory-policy", "noeviction").Err())
	slices.Sort(two)
	wantCheck(t, i.Doctor(ctx), "eviction", doctor.Fail, "servers "+strings.Join(two, ", ")+": maxmemory-policy allkeys-random")
	for _, s := range c.Nodes() {
		must.Do(t, s.Client(t).ConfigSet(ctx, "maxmemory-policy", "noeviction").Err())
	}
	spare.Kill()
	checks = i.Doctor(ctx)
	wantCheck(t, checks, "connection", doctor.Fail, "server "+spare.Addr()+": ")
	wantCheck(t, checks, "eviction", doctor.OK)
	wantCheck(t, checks, "definitions", doctor.OK)
	wantCheck(t, checks, "messages", doctor.Fail, "topic orders: ", " cannot be read, such as slot ")
}

// One master that hangs hides what it holds, and takes no time that the others need.
func TestDoctorOfAClusterThatHangs(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 3, 0)
	rdb := c.Client(t)
	topic := define(t, rdb, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 32})
	needed := []string{c.MasterOf(t, protocol.TopicsKey).Addr(), c.MasterOf(t, protocol.DefinitionKey(topic.Name)).Addr()}
	var hanging *servertest.Server
	for _, s := range c.Nodes() {
		if !slices.Contains(needed, s.Addr()) {
			hanging = s
		}
	}
	reached := 0
	for slot := range topic.Slots {
		if key := protocol.KeysOf(topic.Name, slot).Dead; c.MasterOf(t, key).Addr() != hanging.Addr() {
			zadd(t, rdb, key, "x", time.Now().UnixMilli())
			reached++
		}
	}
	hanging.Pause()
	defer hanging.Resume()
	checks := newInspector(t, rdb, Config{}).Doctor(ctx)
	wantCheck(t, checks, "connection", doctor.Fail, "server "+hanging.Addr()+": ")
	wantCheck(t, checks, "definitions", doctor.OK, "1 topic")
	wantCheck(t, checks, "messages", doctor.Fail, fmt.Sprintf("topic orders: %d slots cannot be read, such as slot ", topic.Slots-reached),
		"server "+hanging.Addr()+" does not answer")
	wantCheck(t, checks, "dead", doctor.Warn, fmt.Sprintf("orders (%d)", reached))
}

// A server in memory knows neither INFO nor access control, and its clock can be set.
func TestDoctorOfAServerInMemory(t *testing.T) {
	t.Parallel()
	mini, rdb := servertest.Memory(t)
	i := newInspector(t, rdb, Config{})
	define(t, rdb, message.Topic{Name: "orders", Kind: message.KindPriority})
	for _, c := range i.Doctor(ctx) {
		wantCheck(t, []doctor.Check{c}, c.Name, doctor.OK)
	}
	mini.SetTime(time.Now().Add(time.Hour + time.Minute))
	wantCheck(t, i.Doctor(ctx), "clock", doctor.Warn, "its clock is 1h", " ahead of this machine's")
	mini.SetTime(time.Now().Add(-time.Hour))
	wantCheck(t, i.Doctor(ctx), "clock", doctor.Warn, "its clock is 1h", " behind this machine's")
}

func TestDoctorLooksAtZooKeeper(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb := server.Client(t)
	zoo := servertest.SharedZooKeeper(t)
	root := zoo.Chroot(t)
	at := func(root string) *Inspector { // each anew, as it remembers for a moment what it saw
		return newInspector(t, server.Client(t), Config{Slots: slots.ZooKeeper(slots.ZooKeeperConfig{Servers: zoo.Servers(), Root: root})})
	}
	wantCheck(t, at(root).Doctor(ctx), "zookeeper", doctor.OK, "no worker has been there yet")
	orders := message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4}
	c := work(t, rdb, consumer.Config{Slots: slots.ZooKeeper(slots.ZooKeeperConfig{Servers: zoo.Servers(), Root: root})}, orders, idle)
	await.True(t, "its slots", func() bool {
		all, err := at(root).Slots(ctx, orders.Name)
		must.Do(t, err)
		return all[3].Worker == c.Worker()
	})
	checks := at(root).Doctor(ctx)
	wantCheck(t, checks, "zookeeper", doctor.OK, "1 worker, coordinator "+c.Worker())
	wantCheck(t, checks, "definitions", doctor.OK)
	wantCheck(t, checks, "workers", doctor.OK)
	wantCheck(t, newInspector(t, rdb, Config{}).Doctor(ctx), "zookeeper", doctor.Warn, "not asked, and 1 topic is shared by it")
	wantCheck(t, at(zoo.Chroot(t)).Doctor(ctx), "zookeeper", doctor.Fail, "no worker has been there")

	key := protocol.DefinitionKey(orders.Name)
	tree := rdb.HGet(ctx, key, "tree").Val()
	must.Do(t, rdb.HSet(ctx, key, "tree", "ANOTHER").Err())
	wantCheck(t, at(root).Doctor(ctx), "definitions", doctor.Fail, "tree ANOTHER", tree)
	must.Do(t, rdb.HSet(ctx, key, "tree", tree, "slots", 8).Err())
	wantCheck(t, at(root).Doctor(ctx), "definitions", doctor.Fail, "priority with 8 slots in Redis, and priority with 4 slots in ZooKeeper")
	must.Do(t, rdb.HSet(ctx, key, "slots", 4, "notes", 1).Err())
	wantCheck(t, at(root).Doctor(ctx), "definitions", doctor.Fail, "priority with 4 slots and notes in Redis, and priority with 4 slots in ZooKeeper")
	must.Do(t, rdb.HSet(ctx, key, "notes", 0, "sharing", "redis").Err())
	wantCheck(t, at(root).Doctor(ctx), "definitions", doctor.Warn, "shared by Redis, and ZooKeeper has nodes of it")

	gone := servertest.ZooKeeper(t)
	gone.Kill()
	away := newInspector(t, rdb, Config{Slots: slots.ZooKeeper(slots.ZooKeeperConfig{Servers: gone.Servers(), SessionTimeout: 500 * time.Millisecond})})
	wantCheck(t, away.Doctor(ctx), "zookeeper", doctor.Fail, gone.Addr())
}
