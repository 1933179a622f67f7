package servertest

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestSentinelPromotesWhenTheMasterIsKilled(t *testing.T) {
	t.Parallel()
	g := Sentinel(t)
	rdb := g.Client(t, func(o *redis.FailoverOptions) { o.DialerRetries = 1 })
	awaitSet(t, rdb, "k", "before")
	old := g.Master(t)
	if old != g.Nodes()[0] || len(g.Sentinels()) != 3 {
		t.Fatalf("master %s of %d Sentinels", old.Addr(), len(g.Sentinels()))
	}
	old.Kill()
	next := g.Master(t) // waits for the promotion
	if next == old {
		t.Fatal("the killed master is still the master")
	}
	for _, s := range g.Sentinels() { // a stall of the new one is no reason to go back
		if err := s.Client(t).Do(t.Context(), "sentinel", "set", sentinelMaster, "down-after-milliseconds", "60000").Err(); err != nil {
			t.Fatal(err)
		}
	}
	awaitSet(t, rdb, "k", "after")
	wantValue(t, next.Client(t), "k", "after")

	old.Restart(t)
	g.AwaitReady(t)
	if now := g.Master(t); now != next {
		t.Errorf("%s is the master, not %s", now.Addr(), next.Addr())
	}
	wantValue(t, old.Client(t), "k", "after") // as a replica
}

func TestSentinelWithAPassword(t *testing.T) {
	t.Parallel()
	g := Sentinel(t, "--requirepass", "secret")
	rdb := g.Client(t, func(o *redis.FailoverOptions) { o.DialerRetries = 1 })
	awaitSet(t, rdb, "k", "before")
	stranger := g.Client(t, func(o *redis.FailoverOptions) { o.Password = "" })
	if err := stranger.Get(t.Context(), "k").Err(); !redis.HasErrorPrefix(err, "NOAUTH") {
		t.Errorf("without the password: %v", err)
	}
	old := g.Master(t)
	old.Kill()
	g.Master(t) // waits for the promotion
	awaitSet(t, rdb, "k", "after")
	old.Restart(t)
	g.AwaitReady(t) // the former master is in sync as a replica
	wantValue(t, old.Client(t), "k", "after")
}
