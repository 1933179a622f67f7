package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

func TestHashSlot(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int{"": 0, "123456789": 12739, "prepare{123456789}": 12739, "{}123456789": hashSlot("{}123456789"), "a{123456789}b}": 12739} {
		if got := hashSlot(key); got != want {
			t.Errorf("%q: %d, want %d", key, got, want)
		}
	}
	if hashSlot("{}x") == hashSlot("{}y") || hashSlot("{x") == hashSlot("{y") {
		t.Error("an empty or open hash tag counts")
	}
}

// What a server says about a slot, with addresses as the client of the Cluster has
// them.
func TestReadView(t *testing.T) {
	t.Parallel()
	view := []redis.ClusterSlot{
		{Start: 0, End: 99, Nodes: []redis.ClusterNode{{Addr: "127.0.0.1:1"}, {Addr: "10.0.0.9:9"}}},
		{Start: 100, End: 199, Nodes: []redis.ClusterNode{{Addr: ":2"}}},
		{Start: 200, End: 299, Nodes: []redis.ClusterNode{{Addr: "10.0.0.3:3"}}},
		{Start: 300, End: 399},
	}
	for slot, want := range map[int]string{0: "10.0.0.7:1", 150: "10.0.0.7:2", 299: "10.0.0.3:3", 350: "", 500: ""} {
		owner, masters := readView(view, slot, "10.0.0.7:7000")
		if owner != want || len(masters) != 3 {
			t.Errorf("slot %d: %q of %v", slot, owner, masters)
		}
	}
}

func confirms(t *testing.T, rdb redis.UniversalClient, addr, key string) bool {
	return StandingOf(t.Context(), rdb, addr, key) != Unconfirmed
}

// A master may be replaced while one that votes calls it failed, and it has a replica that is well. That it may be failing
// ("fail?") is what one server thinks by itself, and brings no vote.
func TestMayBeReplaced(t *testing.T) {
	const replica = "r2 127.0.0.1:6@16 slave m2 0 1700000000000 2 connected\n"
	for _, x := range []struct {
		flags, replica string
		want           bool
	}{
		{"master,fail", replica, true},
		{"master", replica, false},
		{"master,fail?", replica, false},
		{"master,fail", "", false},
		{"master,fail", "r2 :0@0 slave,noaddr m2 0 1700000000000 2 disconnected\n", false},
		{"master,fail", "r2 127.0.0.1:6@16,host slave m2 0 1700000000000 2 connected\n", true},
		{"master,fail", "r2 127.0.0.1:6@16 slave,fail m2 0 1700000000000 2 connected\n", false},
		{"master,fail", "r2 127.0.0.1:6@16 slave m1 0 1700000000000 2 connected\n", false},
	} {
		nodes := "m1 127.0.0.1:1@11 myself,master - 0 0 1 connected 0-5460\nm2 127.0.0.1:2@12 " + x.flags + " - 0 0 2 connected 5461-10922\n" + x.replica
		if got := mayBeReplaced(nodes, "m2"); got != x.want {
			t.Errorf("%+v: %v", x, got)
		}
	}
	if mayBeReplaced("", "m2") || mayBeReplaced("m2", "m2") {
		t.Error("nothing was told, and it may be replaced")
	}
}

// A replica takes a master's place between two questions to a server, so that one answers the first as it was before. It
// does not confirm the old master.
func TestReplacedWhileAsked(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 3, 1)
	const key = "k"
	old := c.MasterOf(t, key)
	at := slices.IndexFunc(c.Nodes()[:3], func(s *servertest.Server) bool { return s != old })
	asked := &counter{}
	other := c.Nodes()[at].Client(t, func(o *redis.Options) { o.Limiter = asked })
	must.Do(t, other.Ping(t.Context()).Err())
	asked.n, asked.second = 0, func() { c.Failover(t, key) }
	o := opinions{addr: old.Addr(), key: key, slot: hashSlot(key)}
	must.Do(t, o.ask(t.Context(), other))
	if asked.n != 2 || o.agree > 0 && !o.otherwise && !o.failing {
		t.Errorf("confirmed by %d questions, though another one has its place", asked.n)
	}
}

// counter counts the commands of a client, and does something before the second.
type counter struct {
	n      int
	second func()
}

func (c *counter) Allow() error {
	if c.n++; c.n == 2 && c.second != nil {
		c.second()
	}
	return nil
}

func (c *counter) ReportResult(error) {}

// A server is confirmed by so many other masters that the silent ones are no majority, and
// by none that knows better. Its own word does not count.
func TestStandingOf(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 5, 0)
	rdb := c.Client(t, func(o *redis.ClusterOptions) { o.ReadTimeout = 100 * time.Millisecond })
	const key = "k"
	master := c.MasterOf(t, key)
	others := slices.DeleteFunc(c.Nodes(), func(s *servertest.Server) bool { return s == master })
	await.True(t, "the master is confirmed", func() bool { return confirms(t, rdb, master.Addr(), key) })
	if confirms(t, rdb, others[0].Addr(), key) {
		t.Error("one that does not have the key is confirmed")
	}
	await.True(t, "without a key, any master is confirmed", func() bool { return confirms(t, rdb, others[0].Addr(), "") })
	if confirms(t, rdb, "127.0.0.1:1", "") {
		t.Error("without a key, a server that is no master is confirmed")
	}
	for n, silent := range others[:3] {
		silent.Pause()
		defer silent.Resume()
		if n == 2 && confirms(t, rdb, master.Addr(), key) {
			t.Error("confirmed by one of five, while three are silent")
		}
	}
	others[3].Pause()
	defer others[3].Resume()
	if confirms(t, rdb, master.Addr(), key) {
		t.Error("confirmed by nobody")
	}
}

// A master stands still. One server that names another master outweighs all that do not,
// and replicas confirm nothing, however many they are: they have no vote.
func TestWhoConfirmsAMaster(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 3, 1, "--cluster-node-timeout", "600000") // nothing is voted on
	rdb := c.Client(t, func(o *redis.ClusterOptions) { o.ReadTimeout = 100 * time.Millisecond })
	away, second, third := c.Nodes()[0], c.Nodes()[1], c.Nodes()[2]
	key := ""
	for n := 0; key == "" || c.MasterOf(t, key) != away; n++ {
		key = fmt.Sprint("k", n)
	}
	confirmed := func(want bool, why string) {
		t.Helper()
		is := func() bool { return confirms(t, rdb, away.Addr(), key) }
		if want { // a busy server may be silent once, which confirms nothing
			await.True(t, why+", so it is confirmed", is)
		} else if is() {
			t.Fatalf("%s, and it is confirmed", why)
		}
	}
	confirmed(true, "all say so")
	away.Pause()
	defer away.Resume()
	confirmed(true, "both others say so")
	// As after an election that only the third one knows about.
	id, err := second.Client(t).ClusterMyID(t.Context()).Result()
	if err == nil {
		err = third.Client(t).Do(t.Context(), "cluster", "setslot", hashSlot(key), "node", id).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	confirmed(false, "one of two masters names another server")
	for _, silent := range []*servertest.Server{second, third} {
		silent.Pause()
		defer silent.Resume()
	}
	confirmed(false, "only replicas say so")
}
