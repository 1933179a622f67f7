package journaltest

import (
	"fmt"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/journal/recovery"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/poll"
	"github.com/slotmq/go-rmq/rmq"
)

// What takers have finished is over for the journal, whoever finished it: a Redis that is lost gets back what was not done, and the
// dead as dead.
func TestJournalOfTakers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		rdb := servertest.Redis(t).Client(t)
		n := newNight(t, p, rdb, message.KindPriority, false)
		n.topic.Slots = 1
		client, err := rmq.New(rmq.Config{Redis: rdb, Journal: n.j})
		must.Do(t, err)
		contents := []string{"done", "failed", "dead", "later", "not started", "taken"} // in the order of their priorities
		for i, content := range contents {
			_, err := client.Send(ctx, n.topic, rmq.Priority{Content: content, Priority: int64(900 - 100*i)})
			must.Do(t, err)
		}
		must.Do(t, client.Close(ctx))
		takes, ends := p.open(t, journal.Config{}), p.open(t, journal.Config{})
		a, err := poll.New(poll.Config{Redis: rdb, Journal: takes})
		must.Do(t, err)
		b, err := poll.New(poll.Config{Redis: rdb, Journal: ends})
		must.Do(t, err)
		held, err := a.Take(ctx, []string{n.topic.Name}, poll.Take{Wait: await.Patience, Most: 5, TTR: time.Hour})
		must.Do(t, err)
		verdicts := []poll.Verdict{poll.Failed("no", time.Hour).Of("failed"), poll.Dead("never").Of("dead"), poll.Later(time.Hour, "not now").Of("later"), poll.NotStarted().Of("not started")}
		for i := range 2 { // the second one does not count
			if counted, err := b.Finish(ctx, held.Receipt, verdicts...); err != nil || counted != (i == 0) {
				t.Fatal(counted, err)
			}
		}
		if _, err := a.Take(ctx, []string{n.topic.Name}, poll.Take{Wait: await.Patience, TTR: time.Hour}); err != nil { // and its taker dies
			t.Fatal(err)
		}
		must.Do(t, a.Close(ctx))
		must.Do(t, b.Close(ctx))
		closed(t, takes)
		closed(t, ends)
		for content, want := range map[string]string{"done": "done", "dead": "dead"} {
			all, err := n.j.History(ctx, n.topic.Name, content)
			must.Do(t, err)
			if len(all) != 1 || all[0].Verdict.What != want {
				t.Errorf("%s: %+v, want %s", content, all, want)
			}
		}
		must.Do(t, rdb.FlushAll(ctx).Err())
		n.restore(recovery.Restore{})
		where := map[string]string{}
		for key, what := range map[string]string{"_0": "waits", "dead{%s_0}": "dead"} {
			name := n.topic.Name + key
			if what == "dead" {
				name = fmt.Sprintf(key, n.topic.Name)
			}
			for _, content := range rdb.ZRange(ctx, name, 0, -1).Val() {
				where[content] = what
			}
		}
		for content, want := range map[string]string{"done": "", "failed": "waits", "dead": "dead", "later": "waits", "not started": "waits", "taken": "waits"} {
			if where[content] != want {
				t.Errorf("%s: %q, want %q", content, where[content], want)
			}
		}
	})
}
