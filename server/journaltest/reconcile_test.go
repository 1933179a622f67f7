package journaltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/journal/recovery"
	"github.com/slotmq/go-rmq/message"
)

// yard is a journal and a Redis that a test brings apart.
type yard struct {
	*testing.T
	place *place
	rdb   redis.UniversalClient
	j     *journal.Journal
	r     *recovery.Recovery
	topic message.Topic
	keys  protocol.SlotKeys // of slot 1
}

var yards atomic.Int64

// newYard makes one whose Redis is trusted.
func newYard(t *testing.T, p *place, rdb redis.UniversalClient, topic message.Topic) *yard {
	t.Helper()
	topic.Name = fmt.Sprintf("yard%d-%d", yards.Add(1), time.Now().UnixNano())
	if topic.Slots == 0 {
		topic.Slots = 4
	}
	y := &yard{T: t, place: p, rdb: rdb, topic: topic, keys: protocol.KeysOf(topic.Name, 1)}
	y.open()
	y.do("hset", y.keys.Meta, "batch", 2)
	y.tell(sentTo(topic, 1, 1, 0, "begin"), endOf(topic, 2, "begin"))
	y.trust()
	return y
}

// open opens the journal anew, so that no writer of this test is idle for seconds.
func (y *yard) open() {
	y.Helper()
	if y.j != nil {
		closed(y, y.j)
	}
	y.j = y.place.open(y, journal.Config{Lag: time.Millisecond})
	var err error
	y.r, err = recovery.New(recovery.Config{Journal: y.j, Redis: y.rdb})
	must.Do(y, err)
}

// tell lets another program write what it knows.
func (y *yard) tell(all ...any) {
	y.Helper()
	j := y.place.open(y, journal.Config{Lag: time.Millisecond})
	for _, x := range all {
		switch x := x.(type) {
		case *record.Sends:
			j.Sent([]*record.Sends{x}, behind)
		case *message.Event:
			j.Observe(x)
		}
	}
	closed(y, j)
}

// longAgo is when all was sent that is overdue.
func longAgo() time.Time { return time.Now().Add(-time.Hour) }

// sentTo is the report of a producer about sends to a slot. A score of 0 is long ago.
func sentTo(topic message.Topic, slot int, number, score int64, contents ...string) *record.Sends {
	s := &record.Sends{Topic: topic, Slot: slot, Number: number, At: longAgo()}
	if score == 0 {
		score = s.At.UnixMilli()
	}
	for _, c := range contents {
		s.Items = append(s.Items, record.SentItem{Content: c, Score: score})
	}
	return s
}

// endOf is the report of a worker about the end of messages of slot 1.
func endOf(topic message.Topic, fence int64, contents ...string) *message.Event {
	e := end(message.Done, fence, contents...)
	e.Topic = topic
	return e
}

// reconcile compares, with a journal that has not written before.
func (y *yard) reconcile(o recovery.Reconcile) recovery.Reconciled {
	y.Helper()
	y.open()
	found, err := y.r.Reconcile(ctx, o)
	must.Do(y, err)
	return found
}

// soon is how long some tests wait before they trust Redis.
const soon = time.Millisecond

// trust makes reconcile trust a Redis that it knew nothing about.
func (y *yard) trust() {
	y.Helper()
	if found := y.reconcile(recovery.Reconcile{Every: soon}); found.Missing != 0 {
		y.Fatalf("%+v", found)
	}
	if found := y.reconcile(recovery.Reconcile{Every: soon}); !found.Forgot.Noticed.IsZero() {
		y.Fatalf("it is not trusted: %+v", found)
	}
}

// found compares, and expects what it finds.
func (y *yard) found(want recovery.Reconciled) recovery.Reconciled {
	y.Helper()
	got := y.reconcile(recovery.Reconcile{Every: soon})
	same := got
	same.Looked, same.Forgot = 0, ledger.Forgot{}
	if same != want {
		y.Errorf("found %v, want %v", got, want)
	}
	return got
}

// is expects what the journal says of a content in slot 1.
func (y *yard) is(content, what string) ledger.History {
	y.Helper()
	all, err := y.j.History(ctx, y.topic.Name, content)
	must.Do(y, err)
	if len(all) == 0 && what == "" {
		return ledger.History{}
	}
	if len(all) != 1 || all[0].Verdict.What != what {
		y.Errorf("%s is %+v, want %q", content, all, what)
		return ledger.History{}
	}
	return all[0]
}

func (y *yard) do(args ...any) {
	y.Helper()
	must.Do(y, y.rdb.Do(ctx, args...).Err())
}

// What is owed, and where it is in Redis.
func TestReconcileWhatIsOwed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		y := newYard(t, p, servertest.SharedRedis(t).Client(t), message.Topic{Kind: message.KindFixedTime})
		at, later := longAgo().UnixMilli(), time.Now().Add(time.Hour).UnixMilli()
		y.do("hset", y.keys.Meta, "batch", 100)
		y.do("zadd", y.keys.Store, at, "waits")
		y.do("zadd", y.keys.Prepare, 1000, "flies")
		y.do("zadd", y.keys.Retry, at*100+3, "again")
		y.do("zadd", y.keys.Dead, at+5, "dead", at, "unknown and dead")
		y.do("hset", y.keys.Why, "dead", fmt.Sprintf("17 %d %d - worker 3 no disk", at, at))
		y.tell(
			sentTo(y.topic, 1, 50, 0, "waits", "flies", "again", "dead", "handled", "re-sent", "told"),
			endOf(y.topic, 60, "re-sent"), sentTo(y.topic, 1, 60, 0, "re-sent"),
			sentTo(y.topic, 1, record.UnknownNumber, 0, "unknown", "unknown and dead"),
			sentTo(y.topic, 1, 50, later, "later"),
			endOf(y.topic, 60, "told"),
		)
		y.found(recovery.Reconciled{Gone: 3, Dead: 1})
		for content, what := range map[string]string{
			"waits": ledger.Owed, "flies": ledger.Owed, "again": ledger.Owed, "later": ledger.Owed, "told": ledger.Done,
			"unknown and dead": ledger.Owed, // a death in a batch with this number would not be of this send
			"handled":          ledger.Gone, "re-sent": ledger.Gone, "unknown": ledger.Gone,
		} {
			y.is(content, what)
		}
		h := y.is("dead", ledger.Dead)
		if e := h.Ended[len(h.Ended)-1]; e.Attempt != 17 || e.Reason != "3 no disk" || e.Worker != "worker" || e.At != at+5 || e.Number != 100 {
			t.Errorf("%+v", e)
		}
		y.found(recovery.Reconciled{})

		// What is gone was looked for: a send that comes later is owed.
		y.do("zadd", y.keys.Store, at, "handled")
		y.tell(sentTo(y.topic, 1, 100, 0, "handled"))
		y.found(recovery.Reconciled{})
		y.is("handled", ledger.Owed)
	})
}

// What waits, and is not owed.
func TestReconcileAdopts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		for _, kind := range []message.Kind{message.KindFixedTime, message.KindPriority} {
			y := newYard(t, p, servertest.SharedRedis(t).Client(t), message.Topic{Kind: kind, Notes: true})
			now := time.Now()
			score := func(at int64) int64 {
				if kind == message.KindPriority {
					return 70
				}
				return at
			}
			at, later := now.Add(-time.Minute).UnixMilli(), now.Add(time.Hour).UnixMilli()
			why := fmt.Sprintf("2 %d %d 70 worker no disk", at, at)
			if kind != message.KindPriority {
				why = fmt.Sprintf("2 %d %d - worker no disk", at, at)
			}
			y.do("hset", y.keys.Meta, "batch", 100)
			y.do("zadd", y.keys.Store, score(later), "waits", score(at), "revived", score(at), "finished")
			y.do("hset", protocol.NoteKey(y.topic.Name, 1), "waits", fmt.Sprintf(`7 1 %d %d %d {"a":"b"}`, at, at, later))
			y.do("zadd", y.keys.Retry, later*100+15, "again")
			y.do("zadd", y.keys.Prepare, at/1000*1000+14, "flies")
			y.do("zadd", y.keys.Dead, at, "died", at, "known")
			y.do("hset", y.keys.Why, "again", why, "flies", why, "died", why)
			y.tell(
				sentTo(y.topic, 1, 10, 0, "revived", "finished", "known"), endOf(y.topic, 20, "finished"),
				endOf(y.topic, 100, "revived"), endOfWhat(message.Died, y.topic, 20, "known"),
			)
			y.found(recovery.Reconciled{Adopted: 5, Dead: 1})
			for content, due := range map[string]int64{"waits": score(later), "again": score(later), "finished": score(at), "revived": score(at)} {
				if h := y.is(content, ledger.Owed); h.Verdict.Score != due {
					t.Errorf("%v: %s waits for %d, want %d", kind, content, h.Verdict.Score, due)
				}
			}
			if h := y.is("finished", ledger.Owed); !h.Sent[1].Keeps { // a send that is reported in the meantime knows better
				t.Errorf("%+v", h)
			}
			if v := y.is("waits", ledger.Owed).Verdict; v.Headers != `{"a":"b"}` || v.Expires < later-1000 || v.Expires > later+1000+time.Since(now).Milliseconds() { // it is told what is left of it
				t.Errorf("%+v", v)
			}
			if v := y.is("flies", ledger.Owed).Verdict; kind == message.KindPriority && v.Score != 70 || kind != message.KindPriority && v.Score < at {
				t.Errorf("%+v", v)
			}
			if h := y.is("died", ledger.Dead); h.Verdict.Content != "died" || h.Ended[len(h.Ended)-1].Reason != "no disk" {
				t.Errorf("%+v", h)
			}
			y.found(recovery.Reconciled{})

			// The batch that has it ends it, and so does the next one for the others.
			y.tell(endOf(y.topic, 100, "flies"), endOf(y.topic, 101, "waits", "again", "finished", "revived"))
			for _, content := range []string{"flies", "waits", "again", "finished", "revived"} {
				y.is(content, ledger.Done)
			}
		}
	})
}

func endOfWhat(what message.What, topic message.Topic, fence int64, contents ...string) *message.Event {
	e := end(what, fence, contents...)
	e.Topic = topic
	return e
}

// Nothing is said of what others are about to write.
func TestReconcileWaitsForWriters(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "SQLite", true)
	y := newYard(t, p, servertest.SharedRedis(t).Client(t), message.Topic{Kind: message.KindFixedTime})
	y.do("hset", y.keys.Meta, "batch", 100)
	y.do("zadd", y.keys.Store, time.Now().UnixMilli(), "sent")
	y.tell(sentTo(y.topic, 1, 50, 0, "handled"))
	slow := p.open(t, journal.Config{Lag: 2 * time.Second})
	slow.Observe(endOf(y.topic, 2, "begin")) // so that it is known
	await.True(t, "its writer is known", func() bool { return p.number(t, "SELECT COUNT(*) FROM rmq_writer WHERE closed = 0") == 1 })
	slow.Observe(endOf(y.topic, 60, "handled"))
	slow.Sent([]*record.Sends{sentTo(y.topic, 1, 100, 0, "sent")}, behind)
	y.found(recovery.Reconciled{})
	y.is("handled", ledger.Done)
	if h := y.is("sent", ledger.Owed); len(h.Sent) != 1 {
		t.Errorf("%+v", h)
	}
}

// Nobody knows what Redis has forgotten before the first look.
func TestReconcileTrustsNobodyAtFirst(t *testing.T) {
	t.Parallel()
	y := newYard(t, newPlace(t, "SQLite", true), servertest.SharedRedis(t).Client(t), message.Topic{Kind: message.KindFixedTime})
	exec(t, y.place.url, "DELETE FROM rmq_state WHERE name LIKE 'reconcile %'")
	y.tell(sentTo(y.topic, 1, 1, 0, "handled, or lost"))
	y.found(recovery.Reconciled{Missing: 1})
}

// What Redis forgets between two looks is not gone.
func TestReconcileWhileRedisForgets(t *testing.T) {
	t.Parallel()
	y := newYard(t, newPlace(t, "SQLite", true), servertest.Redis(t).Client(t), message.Topic{Kind: message.KindFixedTime})
	y.tell(sentTo(y.topic, 2, 1, 0, "again and again"))
	y.open()
	sent := false
	got, err := y.r.Reconcile(ctx, recovery.Reconcile{Every: time.Hour, Progress: func(recovery.Reconciled) {
		if !sent { // it was nowhere, and now it is sent and lost
			sent = true
			y.do("zadd", protocol.StoreKey(y.topic.Name, 2), 1, "again and again")
			y.tell(sentTo(y.topic, 2, 3, 0, "again and again")) // in slot 2 no batch shows what is forgotten
			y.do("flushall")
		}
	}})
	must.Do(t, err)
	if got.Gone != 0 || got.Missing != 1 {
		t.Errorf("%+v", got)
	}
	y.is("again and again", ledger.Owed)
}

// Larger contents are looked at in several steps, and each step reports its own.
func TestReconcileLargeContents(t *testing.T) {
	t.Parallel()
	y := newYard(t, newPlace(t, "SQLite", true), servertest.SharedRedis(t).Client(t), message.Topic{Kind: message.KindFixedTime})
	const n = 12
	large, gone, adopted := strings.Repeat("x", 200_000), 0, 0
	for i := range n {
		content := fmt.Sprintf("%d %s", i, large)
		if i%2 == 0 {
			y.do("zadd", y.keys.Store, time.Now().UnixMilli(), content)
		}
		if i%3 > 0 {
			y.tell(sentTo(y.topic, 1, 1, 0, content))
		}
		switch {
		case i%2 == 0 && i%3 == 0:
			adopted++
		case i%2 > 0 && i%3 > 0:
			gone++
		}
	}
	y.found(recovery.Reconciled{Gone: gone, Adopted: adopted})
	y.found(recovery.Reconciled{})
	for i := range n {
		if i%2 == 0 {
			y.is(fmt.Sprintf("%d %s", i, large), ledger.Owed)
		}
	}
}

func TestReconcileSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	y := newYard(t, newPlace(t, "SQLite", true), servertest.SharedRedis(t).Client(t), message.Topic{Kind: message.KindFixedTime})
	for _, o := range []recovery.Reconcile{
		{Rate: -1}, {Rate: 20_001}, {Every: -1}, {Accept: true, Topics: []string{y.topic.Name}}, {Topics: []string{"nowhere"}},
	} {
		if _, err := y.r.Reconcile(ctx, o); !errors.Is(err, message.ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := y.r.Run(ctx, recovery.Reconcile{Rate: -1}); !errors.Is(err, message.ErrInvalid) {
		t.Error(err)
	}
	if _, err := y.r.Reconcile(canceled(), recovery.Reconcile{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	y.tell(sentTo(y.topic, 1, 1, 0, "handled"))
	y.do("set", y.keys.Why, "x")
	_, err := y.r.Reconcile(ctx, recovery.Reconcile{})
	oneLine(t, err, "reconcile: ", y.keys.Store, "rmq verify")
	y.is("handled", ledger.Owed)
}

// The rights in docs/DEPLOYMENT.md are enough to compare.
func TestReconcileRights(t *testing.T) {
	t.Parallel()
	line := documentedRights(t, "reconciler", "orders-reconcile")
	srv := servertest.Redis(t)
	y := newYard(t, newPlace(t, "SQLite", true), srv.Client(t), message.Topic{Kind: message.KindFixedTime, Notes: true})
	later := time.Now().Add(time.Hour).UnixMilli()
	y.do("zadd", y.keys.Store, later, "waits")
	y.do("zadd", y.keys.Dead, later, "dead")
	y.do("hset", protocol.NoteKey(y.topic.Name, 1), "waits", fmt.Sprintf("1 1 1 1 %d", later))
	y.tell(sentTo(y.topic, 1, 1, 0, "handled", "dead"))
	rules := strings.Fields(strings.ReplaceAll(line, "orders", y.topic.Name))
	args := []any{"acl", "setuser", "reconciler", "on", ">secret"}
	for _, rule := range rules {
		args = append(args, rule)
	}
	y.do(args...)
	admin, user := y.rdb, srv.Client(t, func(o *redis.Options) { o.Username, o.Password = "reconciler", "secret" })
	y.rdb = user
	y.found(recovery.Reconciled{Gone: 1, Dead: 1, Adopted: 1})
	m, err := y.j.Memory(ctx)
	must.Do(t, err)
	must.Do(t, admin.Del(ctx, protocol.TickKey(m.Key, 0)).Err())
	must.Do(t, admin.HSet(ctx, y.keys.Meta, "batch", 1).Err())
	y.found(recovery.Reconciled{})
	if number := admin.HGet(ctx, y.keys.Meta, "batch").Val(); number != "2" {
		t.Errorf("number %s", number)
	}
	for _, command := range []string{"zscan", "set"} {
		must.Do(t, admin.Do(ctx, "acl", "setuser", "reconciler", "-"+command).Err())
		y.tell(sentTo(y.topic, 1, 1, 0, "another"))
		_, err := y.r.Reconcile(ctx, recovery.Reconcile{})
		oneLine(t, err, "reconcile: ", "+"+command)
	}
}
