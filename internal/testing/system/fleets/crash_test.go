package fleets

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// One more worker is killed soon after each start, sometimes with its share and
// sometimes before. No more than one share of each topic stands still at any time because of
// it, and each slot of that for no longer than a session.
func TestZooKeeperWorkerThatCrashesAgainAndAgain(t *testing.T) {
	t.Parallel()
	zk := servertest.SharedZooKeeper(t)
	f := newFleet(t, zk, zk.Chroot(t))
	dead := map[string]bool{}
	most, withShare := 0, 0
	look := func() {
		t.Helper()
		for _, topic := range f.Job.Topics {
			still := 0
			for _, id := range f.assigned(topic) {
				if dead[id] {
					still++
				}
			}
			most = max(most, still)
			if fair := (topic.Slots + fleetSize) / (fleetSize + 1); still > fair {
				t.Fatalf("%d slots of %s stand still, of %d that died; a share is %d", still, topic.Name, len(dead), fair)
			}
		}
	}
	shared := false
	next := f.add() // its process begins while the one before works
	for withShare < 2 {
		w := next
		next = f.add()
		f.During(w.Name+" is there", f.Seen(w.Name, proctest.Warm))
		w.Go()
		f.During(w.Name+" has started", f.Seen(w.Name, proctest.Ready))
		id, begun, lasts := f.ids()[w.Name], time.Now(), time.Hour // or until it has its share
		if !shared && f.Random.IntN(2) == 0 {
			lasts = time.Duration(f.Random.Int64N(int64(time.Second)))
		}
		f.looking(w.Name+" crashes", func() bool {
			look()
			shared = f.Open(w.Name) > 0
			return shared || time.Since(begun) > lasts
		})
		if shared {
			withShare++
		}
		w.Kill()
		f.gone(w)
		dead[id] = true
		look()
	}
	f.gone(next)
	next.Kill()
	f.settle("a worker has crashed again and again")
	if most == 0 {
		t.Error("no slot stood still, so this proves nothing")
	}
	t.Logf("%d workers were killed, %d of them with a share; no more than %d slots of a topic stood still", len(dead), withShare, most)
	f.Drain()
	f.judge(2) // on a busy machine a slot is given on before it was taken over
}
