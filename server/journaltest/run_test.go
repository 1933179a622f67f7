package journaltest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/journal/recovery"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// run reconciles again and again until it is stopped, or the test ends. It counts the pages that it looks at.
func (y *yard) run() (stop func(), pages *atomic.Int64) {
	y.Helper()
	r, err := recovery.New(recovery.Config{Journal: y.place.open(y, journal.Config{Lag: time.Millisecond}), Redis: y.rdb})
	must.Do(y, err)
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	pages = new(atomic.Int64)
	go func() {
		defer close(ended)
		o := recovery.Reconcile{Every: 50 * time.Millisecond, Rate: 20_000, Progress: func(recovery.Reconciled) { pages.Add(1) }}
		if err := r.Run(ctx, o); err != nil {
			y.Error(err)
		}
	}()
	stop = func() {
		cancel()
		<-ended
	}
	y.Cleanup(stop)
	return stop, pages
}

// becomes returns when the journal says so of a content.
func (y *yard) becomes(content, what string) {
	y.Helper()
	await.True(y, content+" is "+what, func() bool {
		all, err := y.j.History(ctx, y.topic.Name, content)
		must.Do(y, err)
		return len(all) == 1 && all[0].Verdict.What == what
	})
}

// What waits is looked for when somebody may have failed to write it: once a day, when a process has vanished,
// when there is a gap.
func TestRunAdoptsWhenItMust(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "SQLite", true)
	y := newYard(t, p, servertest.SharedRedis(t).Client(t), message.Topic{Kind: message.KindFixedTime})
	later := time.Now().Add(time.Hour).UnixMilli()
	y.do("zadd", y.keys.Store, later, "vanished") // the row of its send died with its process
	y.run()
	y.tell(sentTo(y.topic, 1, 0, 0, "handled"))
	y.becomes("handled", ledger.Gone)
	if n := p.number(t, "SELECT COUNT(*) FROM rmq_ended WHERE what = 'adopted'"); n != 0 {
		t.Errorf("%d are adopted without a reason", n)
	}
	adopted := func() int64 { return p.number(t, "SELECT value FROM rmq_state WHERE name = 'reconcile adopted'") }
	for i, reason := range []string{
		"UPDATE rmq_state SET value = value - 86400000 WHERE name = 'reconcile adopted'",
		"INSERT INTO rmq_gap (id, writer, begins, ends, sends, endings) VALUES ((SELECT value FROM rmq_state WHERE name = 'id'), 1, 1, 1, 1, 0)",
		"UPDATE rmq_writer SET closed = 0, flushed = flushed - 60000 WHERE id = (SELECT MIN(id) FROM rmq_writer WHERE closed > 0)",
	} {
		content := fmt.Sprintf("order %d", i)
		y.do("zadd", y.keys.Store, later, content)
		last := adopted()
		exec(t, p.url, "UPDATE rmq_state SET value = value - 3600000 WHERE name = 'reconcile adopted'", reason) // an hour goes by
		y.becomes(content, ledger.Owed)
		y.is("vanished", ledger.Owed)
		await.True(t, "this look has ended, too", func() bool { return adopted() > last }) // or it would end the next hour
	}
}

// Only one of several works, and another one goes on after it.
func TestRunLeads(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		y := newYard(t, p, servertest.SharedRedis(t).Client(t), message.Topic{Kind: message.KindFixedTime})
		stop, _ := y.run()
		await.True(t, "it holds the lead", func() bool { return p.number(t, "SELECT value FROM rmq_state WHERE name = 'reconciling'") > 0 })
		begun := time.Now()
		_, pages := y.run()
		for _, content := range []string{"one", "another"} {
			y.tell(sentTo(y.topic, 1, 0, 0, content))
			y.becomes(content, ledger.Gone)
		}
		if n := pages.Load(); n != 0 && time.Since(begun) < 5*time.Second { // later the lease may have run out on a busy machine
			t.Errorf("both work: the second has looked at %d pages", n)
		}
		stop()
		y.tell(sentTo(y.topic, 1, 0, 0, "two"))
		y.becomes("two", ledger.Gone)
	})
}

// While SQL is away more is sent than there is room for. What the gap says is what is adopted.
func TestRunAdoptsWhatTheGapTells(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, p *place) {
		y := newYard(t, p, servertest.SharedRedis(t).Client(t), message.Topic{Kind: message.KindFixedTime})
		y.run()
		j := p.open(t, journal.Config{Lag: time.Millisecond, Buffer: 64 << 10})
		client, err := rmq.New(rmq.Config{Redis: y.rdb, Journal: j})
		must.Do(t, err)
		sent := int64(0)
		send := func(n int) {
			for range n {
				sent++
				_, err := client.Send(ctx, y.topic, rmq.FixedTime{Content: fmt.Sprintf("order %d", sent), At: time.Now().Add(time.Hour)})
				must.Do(t, err)
			}
		}
		send(100)
		await.True(t, "sends are written", func() bool { return p.number(t, "SELECT COUNT(*) FROM rmq_sent") > 100 })
		begun := time.Now()
		p.server.Kill()
		every := time.NewTicker(10 * time.Millisecond)
		defer every.Stop()
		for send(1000); night.Is() && time.Since(begun) < 10*time.Second; <-every.C {
			send(20)
		}
		p.server.Restart(t)
		await.True(t, "the gap is written", func() bool { return p.number(t, "SELECT COUNT(*) FROM rmq_gap") == 1 })
		gap := p.number(t, "SELECT sends FROM rmq_gap")
		await.True(t, "what the gap hid is adopted", func() bool { return p.number(t, "SELECT COUNT(*) FROM rmq_ended WHERE what = 'adopted'") >= gap })
		must.Do(t, client.Close(ctx))
		closed(t, j)
		if adopted, owed := p.number(t, "SELECT COUNT(*) FROM rmq_ended WHERE what = 'adopted'"), p.number(t, "SELECT COUNT(DISTINCT hash) FROM rmq_sent"); gap == 0 || adopted != gap || owed != sent+1 {
			t.Errorf("%d were sent, the gap is of %d, %d are adopted, %d in SQL", sent, gap, adopted, owed-1)
		}
	})
}
