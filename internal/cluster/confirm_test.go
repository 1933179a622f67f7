package cluster

import (
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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

// What a server tells of a slot, as the client of the Cluster has its addresses.
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

// A server is confirmed by so many other masters that the silent ones are no majority, and
// by none that knows better. Its own word does not count.
func TestStillMaster(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 5, 0)
	rdb := c.Client(t, func(o *redis.ClusterOptions) { o.ReadTimeout = 100 * time.Millisecond })
	const key = "k"
	master := c.MasterOf(t, key)
	others := slices.DeleteFunc(c.Nodes(), func(s *servertest.Server) bool { return s == master })
	for begun := time.Now(); !StillMaster(t.Context(), rdb, master.Addr(), key); {
		if time.Since(begun) > 30*time.Second {
			t.Fatal("the master is not confirmed")
		}
	}
	if StillMaster(t.Context(), rdb, others[0].Addr(), key) {
		t.Error("one that does not have the key is confirmed")
	}
	for n, silent := range others[:3] {
		silent.Pause()
		defer silent.Resume()
		if n == 2 && StillMaster(t.Context(), rdb, master.Addr(), key) {
			t.Error("confirmed by one of five, while three are silent")
		}
	}
	others[3].Pause()
	defer others[3].Resume()
	if StillMaster(t.Context(), rdb, master.Addr(), key) {
		t.Error("confirmed by nobody")
	}
}
