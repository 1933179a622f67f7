package journaltest

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// Relays are killed while transactions commit: what has committed is sent, what was rolled back is
// not, and of each content the last send has the last word.
func TestRelaysAreKilled(t *testing.T) {
	t.Parallel()
	eachDrawn(t, func(t *testing.T, p *place) {
		o := newOffice(t, p, servertest.SharedRedis(t).Client(t))
		kills, commits, contents := night.Times(2, 50), night.Times(300, 10_000), 100
		random := sharetest.Rand(t)
		relaying := newCrew(t, job{What: relays, URL: o.url, Redis: servertest.SharedRedis(t).Addr()}, 2)
		last := map[string]int{}
		var done atomic.Int64
		committed := make(chan struct{})
		t.Cleanup(func() { <-committed }) // also behind a failure
		go func() {
			defer close(committed)
			for i := range commits {
				if i%50 == 0 { // SQLite lets no other write while one commits without a pause
					await.True(t, "the outbox has room", func() bool { return o.outbox(t) < 500 })
				}
				hot := fmt.Sprint("hot ", i%contents)
				last[hot] = commits + i*(1-2*(i%2)) // grows for one content, and shrinks for another
				last[fmt.Sprint("order ", i)] = i
				if i%10 == 0 {
					o.send(t, false, order(fmt.Sprint("rolled back ", i), i), order(hot, 3*commits))
				}
				o.send(t, true, order(fmt.Sprint("order ", i), i), order(hot, last[hot]))
				done.Add(1)
			}
		}()
		for k := range kills {
			// In the middle of the work: some of it is sent, and some has committed since.
			until := int64((k + 1) * commits / (kills + 1))
			await.True(t, "something was committed", func() bool { return done.Load() >= until || o.outbox(t) > 0 })
			sent := len(o.stored(t))
			await.True(t, "something is sent", func() bool { return len(o.stored(t)) > sent || o.outbox(t) == 0 })
			await.True(t, "so many have committed", func() bool { return done.Load() >= until })
			relaying.replace(random.IntN(len(relaying.alive)))
		}
		<-committed
		await.True(t, "the outbox is empty", func() bool { return o.outbox(t) == 0 })
		stored := o.stored(t)
		missing, wrong := 0, 0
		for content, version := range last {
			switch got, ok := stored[content]; {
			case !ok:
				missing++
			case got != version:
				wrong++
			}
		}
		if missing+wrong > 0 || len(stored) != len(last) {
			t.Errorf("%d are missing, %d have an older version; %d are stored, of %d", missing, wrong, len(stored), len(last))
		}
		status, err := o.j.Status(ctx)
		must.Do(t, err)
		if status.Outbox != (ledger.Outbox{}) {
			t.Errorf("%+v", status.Outbox)
		}
		t.Logf("%d commits, %d kills", commits, kills)
	})
}
