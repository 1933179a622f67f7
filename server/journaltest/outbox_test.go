package journaltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/rmq"
)

// office is a journal with an outbox, and a client that may relay it.
type office struct {
	*place
	db      *sql.DB
	dialect journal.Dialect
	j       *journal.Journal
	rdb     *redis.Client
	topic   rmq.Topic // of one slot: its store shows what was sent
}

func newOffice(t testing.TB, p *place, rdb *redis.Client) *office {
	t.Helper()
	o := &office{place: p, rdb: rdb, topic: rmq.Topic{Name: fmt.Sprintf("outbox-%d", time.Now().UnixNano()), Kind: rmq.KindPriority, Slots: 1}}
	o.db, o.dialect = p.db(t)
	var err error
	o.j, err = journal.Open(o.db, o.dialect, journal.Config{})
	must.Do(t, err)
	t.Cleanup(func() { closed(t, o.j) })
	return o
}

// client is one with this journal.
func (o *office) client(t testing.TB, cfg rmq.Config) *rmq.Client {
	t.Helper()
	cfg.Redis, cfg.Journal = o.rdb, o.j
	client, err := rmq.New(cfg)
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, client.Close(ctx)) })
	return client
}

// relay relays until the test ends, or the returned function is called.
func (o *office) relay(t testing.TB, client *rmq.Client) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- journal.Relay(ctx, o.j, client) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// order is a message whose priority is its version.
func order(content string, version int) rmq.Message {
	return rmq.Priority{Content: content, Priority: int64(17 + version)}
}

// send sends in a transaction of its own.
func (o *office) send(t testing.TB, commit bool, messages ...rmq.Message) {
	t.Helper()
	o.sendTo(t, commit, o.topic, messages...)
}

func (o *office) sendTo(t testing.TB, commit bool, topic rmq.Topic, messages ...rmq.Message) {
	t.Helper()
	var tx *sql.Tx
	await.Nil(t, "a transaction begins", func() (err error) { // others may hold a file of SQLite
		tx, err = o.db.BeginTx(ctx, nil)
		return err
	})
	defer tx.Rollback()
	must.Do(t, o.j.SendTx(ctx, tx, topic, messages...))
	if commit {
		must.Do(t, tx.Commit())
	}
}

// stored is what waits in the topic, with its versions.
func (o *office) stored(t testing.TB) map[string]int {
	t.Helper()
	all := map[string]int{}
	found, err := o.rdb.ZRangeWithScores(ctx, protocol.StoreKey(o.topic.Name, 0), 0, -1).Result()
	must.Do(t, err)
	for _, z := range found {
		all[z.Member.(string)] = int(z.Score) - 17
	}
	return all
}

// outbox is the number of rows that wait.
func (o *office) outbox(t testing.TB) int64 {
	t.Helper()
	return o.number(t, "SELECT COUNT(*) FROM rmq_outbox WHERE refused = ''")
}

func eachOffice(t *testing.T, test func(t *testing.T, o *office)) {
	t.Helper()
	each(t, func(t *testing.T, p *place) { test(t, newOffice(t, p, servertest.SharedRedis(t).Client(t))) })
}

// What has committed is sent, and nothing else.
func TestOutboxSendsWhatCommitted(t *testing.T) {
	t.Parallel()
	eachOffice(t, func(t *testing.T, o *office) {
		o.send(t, true, order("before", 1))
		o.send(t, false, order("rolled back", 1))
		if n := o.outbox(t); n != 1 || len(o.stored(t)) != 0 {
			t.Errorf("%d rows, and %v in Redis, without a relay", n, o.stored(t))
		}
		status, err := o.j.Status(ctx)
		must.Do(t, err)
		if status.Outbox.Waiting != 1 || time.Since(status.Outbox.Since) > time.Hour || status.Outbox.Refused != 0 {
			t.Errorf("%+v", status.Outbox)
		}
		o.relay(t, o.client(t, rmq.Config{}))
		many := make([]rmq.Message, 1234) // more than two pages
		for i := range many {
			many[i] = order(fmt.Sprint("order ", i), i)
		}
		o.send(t, false, order("rolled back", 2))
		o.send(t, true, many...)
		o.send(t, true)
		await.True(t, "the outbox is empty", func() bool { return o.outbox(t) == 0 })
		stored := o.stored(t)
		if len(stored) != 1235 || stored["before"] != 1 || stored["order 1233"] != 1233 {
			t.Errorf("%d are stored: %v", len(stored), stored)
		}
		status, err = o.j.Status(ctx)
		must.Do(t, err)
		if status.Outbox != (ledger.Outbox{}) {
			t.Errorf("%+v", status.Outbox)
		}
	})
}

// Its errors are those of Send, and nothing is written then.
func TestOutboxErrors(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "SQLite", false)
	o := newOffice(t, p, servertest.SharedRedis(t).Client(t))
	client := o.client(t, rmq.Config{})
	tx, err := o.db.BeginTx(ctx, nil)
	must.Do(t, err)
	for name, c := range map[string]struct {
		topic rmq.Topic
		m     rmq.Message
	}{
		"topic":    {rmq.Topic{Name: "a/b", Kind: rmq.KindPriority}, order("a", 1)},
		"kind":     {o.topic, rmq.FixedTime{Content: "a", In: time.Hour}},
		"nil":      {o.topic, nil},
		"priority": {o.topic, rmq.Priority{Content: "a", Priority: 1}},
		"content":  {o.topic, order(strings.Repeat("x", 256<<10+1), 1)},
		"notes":    {o.topic, rmq.Priority{Content: "a", Priority: 17, TTL: time.Hour}},
	} {
		_, want := client.Send(ctx, c.topic, c.m)
		got := o.j.SendTx(ctx, tx, c.topic, c.m)
		if got == nil || want == nil || got.Error() != want.Error() || !errors.Is(got, rmq.ErrInvalid) {
			t.Errorf("%s: %v; Send says %v", name, got, want)
		}
		if c.m != nil {
			got = o.j.SendTx(ctx, tx, c.topic, order("good", 1), c.m)
			if name != "topic" && (got == nil || !strings.Contains(got.Error(), "message 1: ")) {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
	oneLine(t, o.j.SendTx(ctx, nil, o.topic, order("a", 1)), "tx is nil")
	oneLine(t, o.j.SendTx(canceled(), tx, o.topic, order("a", 1)), "send to topic "+o.topic.Name)
	must.Do(t, tx.Commit())
	if n := o.outbox(t); n != 0 {
		t.Errorf("%d rows", n)
	}
	if err := journal.Relay(ctx, nil, client); err == nil {
		t.Error("a relay without a journal")
	}
	o = newOffice(t, p, o.rdb)
	closed(t, o.j)
	if err := o.j.SendTx(ctx, nil, o.topic, order("a", 1)); err == nil {
		t.Error("no error")
	}
	must.Do(t, journal.Relay(ctx, o.j, client)) // the journal is closed
}

// What was sent in time, and is relayed so late that its listener would not handle it, is for that one to say.
func TestOutboxRelaysWhatIsLate(t *testing.T) {
	t.Parallel()
	o := newOffice(t, newPlace(t, "SQLite", false), servertest.SharedRedis(t).Client(t))
	o.topic.Kind = message.KindFixedTime
	_, errs := definition.AgreeAll(ctx, protocol.New(o.rdb), []string{o.topic.Name}, []definition.Listened{{Topic: o.topic, MaxLate: time.Minute}},
		definition.Sharing{Way: definition.SharingRedis})
	must.Do(t, errs[0])
	late := rmq.FixedTime{Content: "late", At: time.Now().Add(-time.Hour)}
	o.send(t, true, late)
	client := o.client(t, rmq.Config{})
	if _, err := client.Send(await.Context(t), o.topic, late); !errors.Is(err, rmq.ErrPast) {
		t.Errorf("whoever sends it now: %v", err)
	}
	o.relay(t, client)
	await.True(t, "the outbox is empty", func() bool { return o.outbox(t) == 0 })
	if got := o.stored(t); len(got) != 1 {
		t.Errorf("stored: %v", got)
	}
}

// A row that is refused whenever it is sent is put aside with its reason; the others go on.
func TestOutboxPutsAsideWhatIsRefused(t *testing.T) {
	t.Parallel()
	eachOffice(t, func(t *testing.T, o *office) {
		client := o.client(t, rmq.Config{MaxContent: 20})
		conflict := rmq.Topic{Name: o.topic.Name + "-conflict", Kind: rmq.KindPriority, Slots: 4}
		_, err := client.Send(ctx, conflict, order("a", 1))
		must.Do(t, err)
		conflict.Slots = 8
		var rows []rmq.Message
		for i := range 100 {
			rows = append(rows, order(fmt.Sprint("order ", i), i))
		}
		rows[0], rows[40], rows[41], rows[99] = order(strings.Repeat("x", 21), 1), order(strings.Repeat("x", 22), 1), order(strings.Repeat("x", 23), 1), order(strings.Repeat("x", 24), 1)
		o.send(t, true, rows...)
		o.sendTo(t, true, conflict, order("b", 1), order("c", 1))
		exec(t, o.url, "INSERT INTO rmq_outbox (topic, at, message, refused) VALUES ('"+o.topic.Name+"', 1, '{\"colour\": 1}', '')")
		o.send(t, true, order("last", 1))
		stop := o.relay(t, client)
		await.True(t, "the outbox is empty", func() bool { return o.outbox(t) == 0 })
		if got := o.stored(t); len(got) != 97 || got["last"] != 1 || got["order 98"] != 98 {
			t.Errorf("%d are stored: %v", len(got), got)
		}
		status, err := o.j.Status(ctx)
		must.Do(t, err)
		if status.Outbox.Refused != 4+2+1 || status.Outbox.Waiting != 0 || !strings.Contains(status.Outbox.Reason, "to topic "+o.topic.Name+": ") || !strings.Contains(status.Outbox.Reason, "1 to 20 bytes") {
			t.Errorf("%+v", status.Outbox)
		}
		why := strings.Join(o.texts(t, "SELECT refused FROM rmq_outbox WHERE id > 100 ORDER BY id"), "; ")
		for _, want := range []string{"already defined differently", "cannot be read", "colour"} {
			if !strings.Contains(why, want) {
				t.Errorf("%q does not say %q", why, want)
			}
		}
		stop()
		// After the reason is mended, they are sent again by hand.
		exec(t, o.url, "UPDATE rmq_outbox SET refused = '' WHERE id <= 100")
		o.relay(t, o.client(t, rmq.Config{}))
		await.True(t, "the outbox is empty", func() bool { return o.outbox(t) == 0 })
		if got := o.stored(t); len(got) != 101 {
			t.Errorf("%d are stored", len(got))
		}
	})
}

// A transaction that commits late has rows with smaller ids. They are not passed over.
func TestOutboxOfALateCommit(t *testing.T) {
	t.Parallel()
	eachOffice(t, func(t *testing.T, o *office) {
		if o.server == nil {
			return // its transactions that write come one after the other
		}
		o.relay(t, o.client(t, rmq.Config{}))
		tx, err := o.db.BeginTx(ctx, nil)
		must.Do(t, err)
		defer tx.Rollback()
		must.Do(t, o.j.SendTx(ctx, tx, o.topic, order("late", 1)))
		o.send(t, true, order("early", 2))
		await.True(t, "the early one is sent again", func() bool { return o.stored(t)["early"] == 2 })
		must.Do(t, tx.Commit())
		await.True(t, "the late one is sent", func() bool { return o.stored(t)["late"] == 1 })
	})
}

// faulty fails sends at random: of all messages, of some, before and behind the send.
type faulty struct {
	producer.Sender
	calls, failed atomic.Int64
	until         int64 // calls
}

func (f *faulty) SendBatch(ctx context.Context, t rmq.Topic, ms []rmq.Message) ([]rmq.Receipt, error) {
	n := f.calls.Add(1)
	if n > f.until {
		return f.Sender.SendBatch(ctx, t, ms)
	}
	f.failed.Add(1)
	if n%3 == 0 {
		return nil, errors.New("not sent")
	}
	var some rmq.BatchError
	var rest []rmq.Message
	for i, m := range ms {
		if i%5 == int(n%5) {
			some.Indexes, some.Errs = append(some.Indexes, i), append(some.Errs, rmq.ErrUncertain)
		} else {
			rest = append(rest, m)
		}
	}
	if _, err := f.Sender.SendBatch(ctx, t, rest); err != nil {
		return nil, err
	}
	return make([]rmq.Receipt, len(ms)), &some
}

// Whatever fails in between, the last send of a content decides.
func TestOutboxKeepsTheOrder(t *testing.T) {
	t.Parallel()
	eachOffice(t, func(t *testing.T, o *office) {
		const contents, versions = 7, 30
		var f *faulty
		client := o.client(t, rmq.Config{SendMiddleware: []producer.Middleware{func(s producer.Sender) producer.Sender {
			f = &faulty{Sender: s, until: 6}
			return f
		}}})
		for v := range versions {
			var all []rmq.Message
			for c := range contents {
				// The larger version comes first or last.
				all = append(all, order(fmt.Sprint("order ", c), c%2*1000+(v+1)*(1-2*(c%2))))
			}
			o.send(t, true, all...)
		}
		o.relay(t, client)
		await.True(t, "the outbox is empty", func() bool { return o.outbox(t) == 0 })
		for content, version := range o.stored(t) {
			if version != versions && version != 1000-versions {
				t.Errorf("%s has version %d", content, version)
			}
		}
		if len(o.stored(t)) != contents || f.failed.Load() != 6 {
			t.Errorf("%v, %d failed", o.stored(t), f.failed.Load())
		}
	})
}

// counted counts the sends that are under way.
type counted struct {
	producer.Sender
	running, most, sent *atomic.Int64
}

func (c counted) SendBatch(ctx context.Context, t rmq.Topic, ms []rmq.Message) ([]rmq.Receipt, error) {
	c.most.Store(max(c.most.Load(), c.running.Add(1)))
	defer c.running.Add(-1)
	c.sent.Add(int64(len(ms)))
	return c.Sender.SendBatch(ctx, t, ms)
}

// Only one of several relays works at a time, and when it ends another one goes on at
// once.
func TestOneRelayWorks(t *testing.T) {
	t.Parallel()
	eachOffice(t, func(t *testing.T, o *office) {
		var running, most, sent atomic.Int64
		count := rmq.Config{SendMiddleware: []producer.Middleware{func(s producer.Sender) producer.Sender { return counted{s, &running, &most, &sent} }}}
		var stops []func()
		for range 3 {
			more := newOffice(t, o.place, o.rdb)
			stops = append(stops, more.relay(t, more.client(t, count)))
		}
		const rounds, rows = 30, 40
		for i := range rounds {
			var all []rmq.Message
			for n := range rows {
				all = append(all, order(fmt.Sprint(i, " ", n), n))
			}
			o.send(t, true, all...)
			if i%10 == 9 {
				await.True(t, "the outbox is empty", func() bool { return o.outbox(t) == 0 })
				stops[i/10]()
				if i == rounds-1 {
					break
				}
			}
		}
		// A database that is busy for a second at the end, or for a lease in the middle, lets the lease run out: then
		// another one goes on later, and sends a page again.
		if until := o.number(t, "SELECT value FROM rmq_state WHERE name = 'relay'"); night.Is() && until != 0 {
			t.Errorf("the last one has ended and holds its lease until %d", until)
		}
		if most.Load() != 1 || sent.Load() < rounds*rows || night.Is() && sent.Load() != rounds*rows || len(o.stored(t)) != rounds*rows {
			t.Errorf("%d at once, %d sent, %d stored", most.Load(), sent.Load(), len(o.stored(t)))
		}
	})
}

// While Redis is away rows wait, and are sent when it is back. A topic that is full does not keep
// others.
func TestOutboxWaitsForRedis(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	o := newOffice(t, newPlace(t, "SQLite", false), server.Client(t))
	client := o.client(t, rmq.Config{MaxWaiting: 3})
	full := o.topic
	full.Name = "a" + full.Name // its turn comes before
	o.sendTo(t, true, full, order("1", 1), order("2", 1), order("3", 1), order("4", 1))
	server.Kill()
	stop := o.relay(t, client)
	o.send(t, true, order("order", 1))
	tx, err := o.db.BeginTx(ctx, nil)
	must.Do(t, err)
	must.Do(t, o.j.SendTx(ctx, tx, o.topic, order("order", 2)))
	must.Do(t, tx.Commit())
	server.Restart(t)
	await.True(t, "all but the fourth one are sent", func() bool { return o.outbox(t) == 1 }) // the fourth one in a slot for three
	if got := o.stored(t); got["order"] != 2 {
		t.Errorf("%v", got)
	}
	must.Do(t, o.rdb.ZRem(ctx, protocol.StoreKey(full.Name, 0), "1").Err())
	await.True(t, "the outbox is empty", func() bool { return o.outbox(t) == 0 })
	status, err := o.j.Status(ctx)
	must.Do(t, err)
	if status.Outbox.Refused != 0 {
		t.Errorf("%+v", status.Outbox)
	}
	stop()
}
