package journaltest

import (
	"fmt"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/journal/recovery"
	"github.com/slotmq/go-rmq/message"
)

// late is how many programs are waited for in vain, by one that hardly waits.
func late(t testing.TB, j *journal.Journal) int {
	t.Helper()
	n, err := j.Flushed(ctx, 10*time.Millisecond)
	must.Do(t, err)
	return n
}

// Another program has written what it held when it says so of a time that is past also by a clock that goes wrong.
func TestFlushedAllowsForClocks(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		j := p.open(t, journal.Config{})
		for _, c := range []struct {
			flushed time.Duration // from now
			closed  bool
			late    int
		}{
			{flushed: -time.Second, late: 1},
			{flushed: 900 * time.Millisecond, late: 1}, // its clock may be ahead
			{flushed: time.Hour},
			{flushed: -time.Second, closed: true},
			{flushed: -time.Minute}, // it is dead
		} {
			now := time.Now()
			closed := int64(0)
			if c.closed {
				closed = now.UnixMilli()
			}
			exec(t, p.url, "DELETE FROM rmq_writer",
				fmt.Sprintf("INSERT INTO rmq_writer (id, host, began, flushed, closed, flushes) VALUES (1, '', 1, %d, %d, 1)", now.Add(c.flushed).UnixMilli(), closed))
			if n := late(t, j); n != c.late {
				t.Errorf("%+v: %d late", c, n)
			}
		}
	})
}

// It waits for this process while that holds rows, even its first ones, which rmq_writer does not show yet. While it
// holds none it is not, though it says that it lives only now and then.
func TestFlushedOfThisProcess(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		j := p.open(t, journal.Config{Lag: time.Minute})
		for round := range 2 {
			if n := late(t, j); n != 0 {
				t.Errorf("round %d: it holds nothing, and is late", round)
			}
			j.Sent(sends(1, fmt.Sprint("order ", round)), behind)
			n := late(t, j)
			if status, err := j.Status(ctx); err != nil || status.Held > 0 && n != 1 {
				t.Errorf("round %d: it holds a row, and %d are late; %v", round, n, err)
			}
			// A mark does not wait for the Lag, and takes the row along.
			must.Do(t, j.Mark(ctx, ledger.Topic{Topic: orders}, 1, ledger.Mark{Content: "order", What: ledger.Restored, Number: 1}))
		}
	})
}

// A reconcile also waits for the rows of its own process.
func TestReconcileWaitsForItself(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "SQLite", true)
	y := newYard(t, p, servertest.SharedRedis(t).Client(t), message.Topic{Kind: message.KindFixedTime})
	y.tell(sentTo(y.topic, 1, 50, 0, "handled"))
	j := p.open(t, journal.Config{Lag: 2 * time.Second})
	r, err := recovery.New(recovery.Config{Journal: j, Redis: y.rdb})
	must.Do(t, err)
	j.Observe(endOf(y.topic, 60, "handled"))
	y.do("hset", y.keys.Meta, "batch", 60)
	found, err := r.Reconcile(ctx, recovery.Reconcile{Every: soon})
	must.Do(t, err)
	if found.Gone != 0 {
		t.Errorf("%v", found)
	}
	y.is("handled", ledger.Done)
}
