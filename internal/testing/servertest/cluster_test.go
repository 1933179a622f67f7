package servertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
)

// hasty makes a cluster client report a fault soon.
func hasty(o *redis.ClusterOptions) {
	o.DialerRetries = 1
	o.MaxRedirects = 1
	o.ReadTimeout = 200 * time.Millisecond
}

// awaitSet writes until it works, with the reload that a cluster client needs to
// learn soon that a master was replaced.
func awaitSet(t *testing.T, rdb redis.UniversalClient, key, value string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startPatience)
	defer cancel()
	err := poll(ctx, func() error {
		err := rdb.Set(ctx, key, value, 0).Err()
		if c, ok := rdb.(*redis.ClusterClient); ok && err != nil {
			c.ReloadState(ctx)
		}
		return err
	})
	if err != nil {
		t.Fatalf("SET %s: %v", key, err)
	}
}

func wantValue(t *testing.T, rdb redis.Cmdable, key, want string) {
	t.Helper()
	var got string
	await.Nil(t, "GET "+key, func() (err error) { // a hasty client takes a stalled node for one that is away
		got, err = rdb.Get(t.Context(), key).Result()
		return err
	})
	if got != want {
		t.Errorf("%s = %q; want %q", key, got, want)
	}
}

// steady is for what comes after a promotion: no node is replaced now because the machine stalls it.
func steady(t *testing.T, c *RedisCluster, down *Server) {
	t.Helper()
	for _, s := range c.Nodes() {
		if s != down {
			if err := s.Client(t).ConfigSet(t.Context(), "cluster-node-timeout", "60000").Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestClusterServesAllSlots(t *testing.T) {
	t.Parallel()
	c := Cluster(t, 3, 0, "--maxmemory", "12345678")
	rdb := c.Client(t)
	masters := map[*Server]bool{}
	for i := range 30 {
		key := fmt.Sprint("k", i)
		if err := rdb.Set(t.Context(), key, "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
		master := c.MasterOf(t, key)
		wantValue(t, master.Client(t), key, "v")
		masters[master] = true
	}
	if len(masters) != 3 || len(c.Nodes()) != 3 {
		t.Errorf("keys on %d of %d nodes", len(masters), len(c.Nodes()))
	}
	if got := c.Nodes()[0].Client(t).ConfigGet(t.Context(), "maxmemory").Val()["maxmemory"]; got != "12345678" {
		t.Errorf("maxmemory = %q", got)
	}
}

func TestClusterPromotesWhenAMasterIsKilled(t *testing.T) {
	t.Parallel()
	c := Cluster(t, 3, 1)
	rdb := c.Client(t, hasty)
	awaitSet(t, rdb, "k", "before")
	old := c.MasterOf(t, "k")
	old.Kill()
	next := c.MasterOf(t, "k") // waits for the promotion
	if next == old {
		t.Fatal("the killed master still serves")
	}
	steady(t, c, old)
	awaitSet(t, rdb, "k", "after")

	old.Restart(t)
	c.AwaitReady(t)
	if now := c.MasterOf(t, "k"); now != next {
		t.Errorf("%s serves, not %s", now.Addr(), next.Addr())
	}
	wantValue(t, rdb, "k", "after")
}

func TestClusterFailoverIsPlanned(t *testing.T) {
	t.Parallel()
	c := Cluster(t, 3, 1, "--cluster-node-timeout", "60000") // no other election, whoever is busy
	rdb := c.Client(t)
	awaitSet(t, rdb, "k", "v")
	old := c.MasterOf(t, "k")
	next := c.Failover(t, "k")
	if now := c.MasterOf(t, "k"); next == old || now != next {
		t.Errorf("from %s to %s, now %s", old.Addr(), next.Addr(), now.Addr())
	}
	wantValue(t, rdb, "k", "v")
	c.AwaitReady(t)
	if back := c.Failover(t, "k"); back != old {
		t.Errorf("back to %s, not %s", back.Addr(), old.Addr())
	}
	wantValue(t, rdb, "k", "v")
}

func TestClusterWithAPassword(t *testing.T) {
	t.Parallel()
	c := Cluster(t, 3, 1, "--requirepass", "secret")
	rdb := c.Client(t, hasty)
	awaitSet(t, rdb, "k", "before")
	stranger := c.Client(t, hasty, func(o *redis.ClusterOptions) { o.Password = "" })
	if err := stranger.Get(t.Context(), "k").Err(); !redis.HasErrorPrefix(err, "NOAUTH") {
		t.Errorf("without the password: %v", err)
	}
	awaitSet(t, rdb, "{m}0", "v")
	c.Migrate(t, "{m}").Finish(t)
	wantValue(t, rdb, "{m}0", "v")

	old := c.MasterOf(t, "k")
	old.Kill()
	if next := c.MasterOf(t, "k"); next == old {
		t.Fatal("the killed master still serves")
	}
	awaitSet(t, rdb, "k", "after")
	old.Restart(t)
	c.AwaitReady(t) // the former master is in sync with its replica of before
}

func TestClusterPromotesWhenAMasterIsPaused(t *testing.T) {
	t.Parallel()
	c := Cluster(t, 3, 1)
	rdb := c.Client(t, hasty)
	old := c.MasterOf(t, "k")
	old.Pause()
	if next := c.MasterOf(t, "k"); next == old {
		t.Error("the paused master serves")
	}
	steady(t, c, old)
	awaitSet(t, rdb, "k", "v")
	old.Resume()
	c.AwaitReady(t) // the old master is a replica now
	if now := c.MasterOf(t, "k"); now == old {
		t.Error("the resumed master serves")
	}
	wantValue(t, rdb, "k", "v")
}

// A replica that was cut off knows what was written before, and takes over with that.
func TestClusterForgets(t *testing.T) {
	t.Parallel()
	c := Cluster(t, 2, 1)
	rdb := c.Client(t, hasty)
	awaitSet(t, rdb, "k", "before")
	master := c.MasterOf(t, "k")
	replica := c.CutOff(t, master)
	awaitSet(t, rdb, "k", "after")
	c.TakeOver(t, replica)
	if now := c.MasterOf(t, "k"); now != replica {
		t.Errorf("%s serves, not %s", now.Addr(), replica.Addr())
	}
	wantValue(t, rdb, "k", "before")
}

func TestClusterMigration(t *testing.T) {
	t.Parallel()
	c := Cluster(t, 2, 0)
	rdb := c.Client(t)
	const keys = 10
	for i := range keys {
		awaitSet(t, rdb, fmt.Sprintf("{k}%d", i), "v")
	}
	m := c.Migrate(t, "{k}")
	if m.From == m.To || m.Slot != c.Slot(t, "{k}") {
		t.Fatalf("%+v", m)
	}
	if n := m.MoveKeys(t, keys/2); n != keys/2 {
		t.Errorf("moved %d", n)
	}
	asked := 0
	for i := range keys {
		key := fmt.Sprintf("{k}%d", i)
		if err := m.From.Client(t).Get(t.Context(), key).Err(); err != nil && strings.HasPrefix(err.Error(), "ASK ") {
			asked++
		} else if err != nil {
			t.Error(err)
		}
		wantValue(t, rdb, key, "v")
	}
	if asked != keys/2 {
		t.Errorf("sent on for %d keys", asked)
	}
	if now := c.MasterOf(t, "{k}"); now != m.From {
		t.Error("the slot has moved before its keys")
	}

	m.Finish(t)
	if now := c.MasterOf(t, "{k}"); now != m.To {
		t.Error("the slot has not moved")
	}
	for i := range keys {
		wantValue(t, rdb, fmt.Sprintf("{k}%d", i), "v")
	}
	c.MoveSlot(t, m.Slot, m.From).Finish(t)
	if now := c.MasterOf(t, "{k}"); now != m.From {
		t.Error("the slot is not back")
	}
	wantValue(t, rdb, "{k}0", "v")
}

func TestParseMember(t *testing.T) {
	t.Parallel()
	m, err := parseMember("id 127.0.0.1:1@2 myself,master - 0 0 7 connected 0-5 9 [3->-other]\n")
	if err != nil {
		t.Fatal(err)
	}
	if m.addr != "127.0.0.1:1" || !m.myself || !m.healthy || m.master != "" || m.epoch != 7 {
		t.Errorf("%+v", m)
	}
	if !m.serves(0) || !m.serves(5) || m.serves(6) || !m.serves(9) {
		t.Errorf("slots %v", m.slots)
	}
	if m, err = parseMember("id :0@0 slave,fail? boss 0 0 1 disconnected"); err != nil || m.healthy || m.master != "boss" {
		t.Errorf("%+v, %v", m, err)
	}
	for _, bad := range []string{"id", "a b c - 0 0 x connected", "a b c - 0 0 1 connected x", "a b c - 0 0 1 connected 1-x"} {
		if _, err := parseMember(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestPollGivesUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cause := errors.New("cause")
	if err := poll(ctx, func() error { return cause }); !errors.Is(err, cause) {
		t.Error(err)
	}
}

// The tests of a process have one Cluster in common, which outlives each of them.
func TestSharedCluster(t *testing.T) {
	var first *RedisCluster
	t.Run("first", func(t *testing.T) { first = SharedCluster(t) })
	t.Run("second", func(t *testing.T) {
		c := SharedCluster(t)
		if c != first {
			t.Error("another one")
		}
		if err := c.Client(t).Set(t.Context(), t.Name(), "x", 0).Err(); err != nil {
			t.Error(err)
		}
	})
}
