package journaltest

import (
	"fmt"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
)

// Workers are killed between the commit of a handler and its return, with whatever else they have in
// their hands: each message has its effect exactly once, and twice if it was sent again behind the first.
func TestWorkersAreKilledBehindTheirCommits(t *testing.T) {
	t.Parallel()
	eachDrawn(t, func(t *testing.T, p *place) {
		messages, atLeast := night.Times(300, 10_000), night.Times(2, 50)
		exec(t, p.url, makeEffects)
		closed(t, p.open(t, journal.Config{}))
		server := servertest.SharedRedis(t)
		rdb := server.Client(t)
		topic := rmq.Topic{Name: fmt.Sprintf("killed-%d", time.Now().UnixNano()), Kind: rmq.KindPriority, Slots: 8, Notes: true}
		client, err := rmq.New(rmq.Config{Redis: rdb})
		must.Do(t, err)
		defer func() { must.Do(t, client.Close(ctx)) }()
		send := func(n int) {
			all := make([]rmq.Message, n)
			for i := range all {
				all[i] = order(fmt.Sprint("order ", i), i)
			}
			_, err := client.SendBatch(ctx, topic, all)
			must.Do(t, err)
		}
		work := newCrew(t, job{What: handles, URL: p.url, Redis: server.Addr(), Topic: topic, Stops: int64(messages / (atLeast + 3))}, 2)
		kills := 0
		drained := func() bool {
			for slot := range topic.Slots {
				keys := protocol.KeysOf(topic.Name, slot)
				for _, key := range []string{keys.Store, keys.Prepare, keys.Retry} {
					if n, err := rdb.ZCard(ctx, key).Result(); err != nil || n > 0 {
						return false
					}
				}
			}
			return true
		}
		drain := func() {
			until := time.Now().Add(await.Patience)
			for !drained() {
				stopped := ""
				work.Await("a worker that stands behind its commit, or none is left to do", func() bool {
					for _, e := range work.Events() {
						if e.Kind == proctest.Seen && work.index(e.Worker) >= 0 {
							stopped = e.Worker
						}
					}
					return stopped != "" || drained()
				})
				if stopped != "" {
					work.replace(work.index(stopped))
					kills++
					until = time.Now().Add(await.Patience)
				}
				if time.Now().After(until) {
					t.Fatal("it goes on for ever")
				}
			}
		}
		send(messages)
		drain()
		send(messages / 10)
		drain()
		if n := p.number(t, "SELECT COUNT(*) FROM effects"); n != int64(messages+messages/10) {
			t.Errorf("%d effects of %d messages", n, messages+messages/10)
		}
		if n := p.number(t, "SELECT COUNT(DISTINCT content) FROM effects"); n != int64(messages) {
			t.Errorf("%d contents of %d", n, messages)
		}
		if n := p.number(t, "SELECT COUNT(*) FROM (SELECT content FROM effects GROUP BY content HAVING COUNT(*) = 2) twice"); n != int64(messages/10) {
			t.Errorf("%d contents were sent again and have two effects, of %d", n, messages/10)
		}
		if kills < atLeast {
			t.Errorf("only %d kills", kills)
		}
		t.Logf("%d messages, %d kills", messages+messages/10, kills)
	})
}
