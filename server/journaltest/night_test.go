package journaltest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/journal/recovery"
	"github.com/slotmq/go-rmq/message"
)

// nightly is a topic whose journal gets sends that its Redis does not have.
type nightly struct {
	testing.TB
	p     *place
	j     *journal.Journal
	rdb   redis.UniversalClient
	topic message.Topic
	cfg   recovery.Config
}

var nights atomic.Int64

func newNight(t testing.TB, p *place, rdb redis.UniversalClient, kind message.Kind, notes bool) *nightly {
	t.Helper()
	j := p.open(t, journal.Config{Wait: true, WaitAtMost: await.Patience})
	topic := message.Topic{Name: fmt.Sprintf("night-%d-%d", time.Now().UnixNano(), nights.Add(1)), Kind: kind, Slots: 2, Notes: notes}
	return &nightly{t, p, j, rdb, topic, recovery.Config{Journal: j, Redis: rdb}}
}

// aNight is one of fixed times, in SQLite.
func aNight(t testing.TB) *nightly {
	t.Helper()
	return newNight(t, newPlace(t, "SQLite", false), servertest.SharedRedis(t).Client(t), message.KindFixedTime, false)
}

// sent reports sends to slot 1.
func (n *nightly) sent(number int64, at time.Time, items ...record.SentItem) {
	n.Helper()
	told := make(chan error, 1)
	n.j.Sent([]*record.Sends{{Topic: n.topic, Slot: 1, Number: number, At: at, Items: items}}, func(err error) { told <- err })
	must.Do(n, <-told)
}

// ended reports what became of messages in slot 1.
func (n *nightly) ended(what message.What, fence int64, reason string, contents ...string) {
	n.Helper()
	e := &message.Event{Topic: n.topic, Slot: 1, Fence: fence, Worker: "worker-1", At: time.Now()}
	for _, c := range contents {
		e.Items = append(e.Items, message.Item{What: what, Content: c, Attempt: 17, Reason: reason})
	}
	n.j.Observe(e)
	awaitRoom(n, n.j)
}

func items(score int64, contents ...string) (all []record.SentItem) {
	for _, c := range contents {
		all = append(all, record.SentItem{Content: c, Score: score})
	}
	return all
}

func (n *nightly) recovery() *recovery.Recovery {
	n.Helper()
	r, err := recovery.New(n.cfg)
	must.Do(n, err)
	return r
}

// restore restores, without waiting for other programs.
func (n *nightly) restore(o recovery.Restore) recovery.Restored {
	n.Helper()
	o.Patience = -1
	done, err := n.recovery().Restore(ctx, o)
	must.Do(n, err)
	return done
}

// restores compares what a restore counts.
func (n *nightly) restores(o recovery.Restore, want recovery.Restored) {
	n.Helper()
	if got := n.restore(o); got != want {
		n.Errorf("%+v: %+v, not %+v", o, got, want)
	}
}

func (n *nightly) keys() protocol.SlotKeys { return protocol.KeysOf(n.topic.Name, 1) }

// holds compares what waits and what is dead in slot 1, each content with its score.
func (n *nightly) holds(waiting, dead string) {
	n.Helper()
	for key, want := range map[string]string{n.keys().Store: waiting, n.keys().Dead: dead} {
		scores, err := n.rdb.ZRangeWithScores(ctx, key, 0, -1).Result()
		must.Do(n, err)
		var got []string
		for _, z := range scores {
			if key == n.keys().Dead {
				got = append(got, fmt.Sprint(z.Member))
			} else {
				got = append(got, fmt.Sprintf("%v:%.0f", z.Member, z.Score))
			}
		}
		if text := strings.Join(got, " "); text != want {
			n.Errorf("%s holds %q, not %q", key, text, want)
		}
	}
}

// empty forgets all that Redis has of the topic.
func (n *nightly) empty() {
	n.Helper()
	for slot := range n.topic.Slots {
		must.Do(n, n.rdb.Del(ctx, protocol.OfSlot(n.topic.Name, slot)...).Err())
	}
	for _, key := range protocol.OfTopic(n.topic.Name) {
		must.Do(n, n.rdb.Del(ctx, key).Err())
	}
}
