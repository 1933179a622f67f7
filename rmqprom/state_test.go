package rmqprom_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqprom"
	"github.com/slotmq/go-rmq/slots"
)

// newState returns a State in a registry of its own, which asks Redis at each scrape.
func newState(t testing.TB, rdb redis.UniversalClient, cfg rmqprom.StateConfig) *prometheus.Registry {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	cfg.Redis, cfg.Registerer = rdb, registry
	if cfg.Timeout == 0 {
		cfg.Timeout = await.Patience
	}
	if cfg.Every == 0 {
		cfg.Every = time.Nanosecond
	}
	_, err := rmqprom.NewState(cfg)
	must.Do(t, err)
	return registry
}

func newClient(t testing.TB, cfg rmq.Config) *rmq.Client {
	t.Helper()
	c, err := rmq.New(cfg)
	must.Do(t, err)
	t.Cleanup(func() {
		must.Do(t, c.Close(await.CleanupContext(t)))
	})
	return c
}

// fill sends messages, three of them for later, and puts a retry, a dead one and a pause
// beside them, as the protocol stores them.
func fill(t testing.TB, rdb redis.UniversalClient, c *rmq.Client, namespace string, topic rmq.Topic) {
	t.Helper()
	for i := range 3 {
		_, err := c.Send(ctx, topic, rmq.FixedTime{Content: fmt.Sprint("later ", i), In: time.Hour})
		must.Do(t, err)
	}
	_, err := c.Send(ctx, topic, rmq.FixedTime{Content: "past", At: time.Now().Add(-time.Minute)})
	must.Do(t, err)
	k := protocol.KeysOf(protocol.Qualify(namespace, topic.Name), 1)
	ago := time.Now().Add(-time.Hour)
	must.Do(t, rdb.ZAdd(ctx, k.Retry, redis.Z{Member: "failed", Score: float64(ago.UnixMilli()*100 + 16)}).Err())
	must.Do(t, rdb.ZAdd(ctx, k.Dead, redis.Z{Member: "dead", Score: float64(ago.UnixMilli())}).Err())
	must.Do(t, rdb.HSet(ctx, k.Meta, "paused", ago.UnixMilli()).Err())
}

// What is stored is shown, of one server and of a Cluster, with and without a namespace.
func TestState(t *testing.T) {
	t.Parallel()
	for name, rdb := range map[string]redis.UniversalClient{"redis": servertest.Redis(t).Client(t), "cluster": servertest.Cluster(t, 2, 0).Client(t)} {
		for _, namespace := range []string{"", "shop"} {
			t.Run(name+"/"+namespace, func(t *testing.T) { stateOf(t, rdb, namespace) })
		}
	}
}

func stateOf(t *testing.T, rdb redis.UniversalClient, namespace string) {
	c := newClient(t, rmq.Config{Redis: rdb, Namespace: namespace})
	mails := rmq.Topic{Name: "mails", Kind: rmq.KindFixedTime, Slots: 8}
	fill(t, rdb, c, namespace, mails)
	must.Do(t, c.Listen(rmq.Topic{Name: "idle", Kind: rmq.KindPriority, Slots: 4}, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return nil }), rmq.ListenOptions{}))
	must.Do(t, c.Start(ctx))

	s := scrape(t, newState(t, rdb, rmqprom.StateConfig{Namespace: namespace}))
	topic := " topic=" + protocol.Qualify(namespace, "mails") + " "
	s.want(t, "rmq_messages"+topic+"state=waiting = 4", "rmq_messages"+topic+"state=in_flight = 0",
		"rmq_messages"+topic+"state=retrying = 1", "rmq_messages"+topic+"state=dead = 1",
		"rmq_messages_due"+topic+"= 2", "rmq_slots_paused"+topic+"= 1", "rmq_slots_unread"+topic+"= 0", "rmq_workers"+topic+"= 0",
		"rmq_workers topic="+protocol.Qualify(namespace, "idle")+" = 1", "rmq_state_errors_total = 0")
	if late := s.value("rmq_overdue_seconds", "topic="+protocol.Qualify(namespace, "mails")); late < 3600 || late > 3600+60 {
		t.Errorf("overdue by %v s", late)
	}
	if old := s.value("rmq_state_age_seconds"); old <= 0 || old > 60 {
		t.Errorf("%v s old", old)
	}
}

// Workers that share by ZooKeeper are counted there; without it, nothing is said of them.
func TestStateWithZooKeeper(t *testing.T) {
	t.Parallel()
	zoo := servertest.SharedZooKeeper(t)
	root := zoo.Chroot(t)
	rdb := servertest.Redis(t).Client(t)
	sharing := func() slots.Sharing {
		return slots.ZooKeeper(slots.ZooKeeperConfig{Servers: zoo.Servers(), Root: root})
	}
	c := newClient(t, rmq.Config{Redis: rdb, Slots: sharing()})
	must.Do(t, c.Listen(rmq.Topic{Name: "idle", Kind: rmq.KindPriority, Slots: 4}, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return nil }), rmq.ListenOptions{}))
	must.Do(t, c.Start(ctx))
	registry := newState(t, rdb, rmqprom.StateConfig{Slots: sharing()})
	becomes(t, func() scraped { return scrape(t, registry) }, 1, "rmq_workers", "topic=idle")
	if n := len(scrape(t, newState(t, rdb, rmqprom.StateConfig{})).series("rmq_workers")); n != 0 {
		t.Error("it counts workers without knowing of them")
	}
}

// Which topics are looked at is a matter of names and patterns; one that is not there yet is
// no error.
func TestStateOfSomeTopics(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	c := newClient(t, rmq.Config{Redis: rdb})
	for _, name := range []string{"mail-in", "mail-out", "orders"} {
		_, err := c.Send(ctx, rmq.Topic{Name: name, Kind: rmq.KindPriority, Slots: 1}, rmq.Priority{Content: "x", Priority: 17})
		must.Do(t, err)
	}
	for _, x := range []struct {
		topics []string
		want   int
	}{{nil, 3}, {[]string{"*"}, 3}, {[]string{"mail-*"}, 2}, {[]string{"orders"}, 1}, {[]string{"orders", "mail-i?"}, 2}, {[]string{"refunds"}, 0}} {
		s := scrape(t, newState(t, rdb, rmqprom.StateConfig{Topics: x.topics}))
		if n := len(s.series("rmq_messages_due")); n != x.want {
			t.Errorf("%q: %d topics, want %d", x.topics, n, x.want)
		}
		s.want(t, "rmq_state_errors_total = 0")
	}
}

// However often it is scraped, Redis is asked once in a while, and for so many slots.
func TestStateIsBounded(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	c := newClient(t, rmq.Config{Redis: rdb})
	send := func(topic, content string) {
		_, err := c.Send(ctx, rmq.Topic{Name: topic, Kind: rmq.KindPriority, Slots: 4}, rmq.Priority{Content: content, Priority: 17})
		must.Do(t, err)
	}
	for i := range 5 {
		send(fmt.Sprint("topic-", i), "x")
	}

	rare := newState(t, rdb, rmqprom.StateConfig{Every: time.Hour})
	for range 3 {
		scrape(t, rare).want(t, "rmq_messages_due topic=topic-0 = 1")
		send("topic-0", "y")
	}

	few := newState(t, rdb, rmqprom.StateConfig{MaxSlots: 8})
	for look, want := range []int{2, 4, 5, 5, 5} { // two topics each time, and the round ends
		if n := len(scrape(t, few).series("rmq_messages_due")); n != want {
			t.Errorf("%d topics after look %d, want %d", n, look+1, want)
		}
	}
	// A new round sees what has changed and what is gone.
	send("topic-1", "y")
	must.Do(t, rdb.SRem(ctx, protocol.TopicsKey, "topic-4").Err())
	must.Do(t, rdb.Del(ctx, protocol.DefinitionKey("topic-4")).Err())
	var last scraped
	for range 3 {
		last = scrape(t, few)
	}
	last.want(t, "rmq_messages_due topic=topic-1 = 2", "rmq_state_errors_total = 0")
	if len(last.series("rmq_messages_due")) != 4 {
		t.Error("a topic that is gone is still shown")
	}
}

// A key of a wrong type costs one slot, and is an error.
func TestStateInPart(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	c := newClient(t, rmq.Config{Redis: rdb})
	fill(t, rdb, c, "", rmq.Topic{Name: "mails", Kind: rmq.KindFixedTime, Slots: 8})
	must.Do(t, rdb.Set(ctx, protocol.KeysOf("mails", 5).Prepare, "x", 0).Err())
	s := scrape(t, newState(t, rdb, rmqprom.StateConfig{}))
	s.want(t, "rmq_slots_unread topic=mails = 1", "rmq_messages topic=mails state=dead = 1", "rmq_state_errors_total = 1")
}

// A server that takes connections and does not answer holds no scrape up, and its
// silence is counted.
func TestStateOfASilentServer(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: servertest.Mute(t), ReadTimeout: time.Second, MaxRetries: -1})
	t.Cleanup(func() { rdb.Close() })
	registry := newState(t, rdb, rmqprom.StateConfig{Timeout: 100 * time.Millisecond, Every: time.Hour})
	s := scrape(t, registry) // which would last for ever, and then the test
	if len(s.series("rmq_messages")) != 0 {
		t.Error("it shows what it cannot know")
	}
	await.True(t, "it is an error", func() bool { return scrape(t, registry).value("rmq_state_errors_total") > 0 })
}

// A master of a Cluster that hangs costs its own slots, and no scrape waits for it for long.
func TestStateOfAClusterWithASilentMaster(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 3, 0)
	rdb := cluster.Client(t, func(o *redis.ClusterOptions) { o.ReadTimeout, o.MaxRetries = 5*time.Second, -1 })
	c := newClient(t, rmq.Config{Redis: rdb})
	orders := rmq.Topic{Name: "orders", Kind: rmq.KindPriority, Slots: 64}
	for i := range 300 {
		_, err := c.Send(ctx, orders, rmq.Priority{Content: fmt.Sprint(i), Priority: 17})
		must.Do(t, err)
	}
	registry := newState(t, rdb, rmqprom.StateConfig{Topics: []string{"orders"}, Timeout: await.Patience})
	scrape(t, registry).want(t, "rmq_messages topic=orders state=waiting = 300", "rmq_slots_unread topic=orders = 0")

	// Not a metric that exists only once for a topic.
	var hanging *servertest.Server
	silent := 0
	for _, s := range cluster.Nodes() {
		if s != cluster.MasterOf(t, protocol.DefinitionKey("orders")) && s != cluster.MasterOf(t, protocol.WorkersKey("orders")) {
			hanging = s
		}
	}
	for slot := range orders.Slots {
		if cluster.MasterOf(t, protocol.StoreKey("orders", slot)) == hanging {
			silent++
		}
	}
	hanging.Pause()
	defer hanging.Resume()
	s := scrape(t, registry)
	s.want(t, fmt.Sprintf("rmq_slots_unread topic=orders = %d", silent), "rmq_state_errors_total = 1")
	if n := s.value("rmq_messages", "topic=orders", "state=waiting"); n == 0 || n >= 300 || silent == 0 {
		t.Errorf("%v messages wait in %d of 64 slots", n, orders.Slots-silent)
	}
}

func TestBadStateConfigs(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	for name, cfg := range map[string]rmqprom.StateConfig{
		"Redis": {}, "Every": {Redis: rdb, Every: -1}, "Timeout": {Redis: rdb, Timeout: -1}, "MaxSlots": {Redis: rdb, MaxSlots: -1},
		"Topics": {Redis: rdb, Topics: []string{"mail-["}}, "Topics, empty": {Redis: rdb, Topics: []string{""}},
		"Namespace": {Redis: rdb, Namespace: "{}"},
	} {
		if _, err := rmqprom.NewState(cfg); !errors.Is(err, rmq.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
