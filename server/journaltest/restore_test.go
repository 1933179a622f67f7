package journaltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

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

const later = 4_000_000_000_000 // ms, in the year 2096

// What is owed waits again, what is dead is dead, and the rest is over. A second restore finds all there.
func TestRestore(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		n := newNight(t, p, servertest.SharedRedis(t).Client(t), message.KindFixedTime, false)
		n.sent(5, time.Now(), items(later, "a", "b", "c", "d")...)
		n.sent(5, time.Now(), items(1_700_000_000_000, "due")...)
		n.ended(message.Done, 6, "", "b")
		n.ended(message.Died, 7, "it burnt down", "c")
		n.ended(message.Cancelled, 0, "", "d")
		want := recovery.Restored{Waiting: 2, Dead: 1, Twice: 1}
		n.restores(recovery.Restore{DryRun: true}, want)
		if left, err := n.rdb.Exists(ctx, append(protocol.OfSlot(n.topic.Name, 1), protocol.DefinitionKey(n.topic.Name))...).Result(); err != nil || left != 0 {
			t.Errorf("a dry run has written %d keys, %v", left, err)
		}
		n.restores(recovery.Restore{}, want)
		n.holds("due:1700000000000 a:4000000000000", "c")
		n.restores(recovery.Restore{DryRun: true}, recovery.Restored{There: 3})
		n.restores(recovery.Restore{}, recovery.Restored{There: 3})
		n.holds("due:1700000000000 a:4000000000000", "c")

		why, ok := protocol.ParseFailure(n.rdb.HGet(ctx, n.keys().Why, "c").Val())
		if !ok || why.Attempts != 17 || why.Worker != "worker-1" || why.Reason != "it burnt down" || time.Since(why.Last) > time.Hour {
			t.Errorf("%+v", why)
		}
		if number := n.rdb.HGet(ctx, n.keys().Meta, "batch").Val(); number != "7" {
			t.Errorf("the slot's number is %s", number)
		}
		for content, want := range map[string]int{"a": 1, "b": 0, "c": 1, "due": 1} {
			all, err := n.j.History(ctx, n.topic.Name, content)
			must.Do(t, err)
			rows := 0
			for _, e := range all[0].Ended {
				if e.What == ledger.Restored && e.Number == 7 {
					rows++
				}
			}
			if rows != want {
				t.Errorf("%s: %+v", content, all[0].Ended)
			}
		}
	})
}

// A slot with nothing to bring back gets its number, too; one of many pages gets it first.
func TestRestoreRaisesNumbers(t *testing.T) {
	t.Parallel()
	n := aNight(t)
	n.sent(record.UnknownNumber, time.Now(), items(later, "a")...)
	n.ended(message.Done, 70, "", "a", "b")
	n.ended(message.Cancelled, 0, "", "a")
	must.Do(t, n.j.Mark(ctx, n.known(), 1, ledger.Mark{Content: "a", What: ledger.Gone, Number: 99}))
	must.Do(t, n.j.Mark(ctx, n.known(), 1, ledger.Mark{Content: "a", What: ledger.Adopted, Number: record.UnknownNumber}))
	n.restores(recovery.Restore{DryRun: true}, recovery.Restored{})
	n.restores(recovery.Restore{}, recovery.Restored{})
	if number := n.rdb.HGet(ctx, n.keys().Meta, "batch").Val(); number != "70" {
		t.Errorf("the slot's number is %s", number)
	}
	n.empty()
	n.sent(80, time.Now(), items(later, "c")...)
	n.restores(recovery.Restore{Content: "c"}, recovery.Restored{Waiting: 1})
	if number := n.rdb.HGet(ctx, n.keys().Meta, "batch").Val(); number != "80" {
		t.Errorf("the slot's number is %s", number)
	}
	n.empty()
	must.Do(t, n.j.Mark(ctx, n.known(), 1, ledger.Mark{Content: "d", What: ledger.Gone, Number: 4})) // rows, not numbers
	must.Do(t, n.j.Mark(ctx, n.known(), 1, ledger.Mark{Content: "d", What: ledger.Adopted, Number: record.UnknownNumber}))
	n.sent(2, time.Now(), items(later, "d")...)
	n.sent(record.UnknownNumber, time.Now(), items(later, "d")...)
	n.restores(recovery.Restore{Content: "d"}, recovery.Restored{Waiting: 1})
	if number := n.rdb.HGet(ctx, n.keys().Meta, "batch").Val(); number != "2" {
		t.Errorf("the slot's number is %s", number)
	}
}

// What is sent while it runs is in Redis, or was handled.
func TestRestoreLeavesWhatIsSentMeanwhile(t *testing.T) {
	t.Parallel()
	n := aNight(t)
	var before, meanwhile []string
	for i := range 600 {
		before, meanwhile = append(before, fmt.Sprintf("before %d", i)), append(meanwhile, fmt.Sprintf("meanwhile %d", i))
	}
	n.sent(1, time.Now(), items(later, before...)...)
	sent := false
	done := n.restore(recovery.Restore{Rate: 1e6, Progress: func(recovery.Restored) {
		if !sent {
			sent = true
			n.sent(1, time.Now(), items(later, meanwhile...)...)
		}
	}})
	if waiting := n.rdb.ZCard(ctx, n.keys().Store).Val(); waiting != 600 || done.Waiting != 600 || done.There == 0 {
		t.Errorf("%d wait; %v", waiting, done)
	}
}

// The rows about what was brought back may come late.
func TestRestoreDoesNotWaitForABusyFile(t *testing.T) {
	t.Parallel()
	n := aNight(t)
	n.sent(1, time.Now(), items(later, "a")...)
	n.cfg.Journal = n.p.open(t, journal.Config{WaitAtMost: 50 * time.Millisecond})
	db, _ := n.p.db(t)
	conn, err := db.Conn(ctx)
	must.Do(t, err)
	_, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	must.Do(t, err)
	n.restores(recovery.Restore{}, recovery.Restored{Waiting: 1})
	_, err = conn.ExecContext(ctx, "ROLLBACK")
	must.Do(t, err)
	must.Do(t, conn.Close())
	awaitRoom(t, n.cfg.Journal)
	if rows := n.p.number(t, "SELECT COUNT(*) FROM rmq_ended WHERE what = 'restored'"); rows != 1 {
		t.Errorf("%d rows", rows)
	}
}

func (n *nightly) known() ledger.Topic {
	n.Helper()
	all, err := n.j.Topics(ctx)
	must.Do(n, err)
	return all[0]
}

// Many pages, of many messages and of large ones.
func TestRestoreOfManyPages(t *testing.T) {
	t.Parallel()
	n := aNight(t)
	const many, large = 1234, 17
	var all []string
	for i := range many {
		all = append(all, fmt.Sprintf("order %d", i))
	}
	n.sent(1, time.Now(), items(later, all...)...)
	for i := range large {
		n.sent(1, time.Now(), items(later, strings.Repeat(fmt.Sprintf("%02d", i), 150<<10))...)
	}
	var told []int
	done := n.restore(recovery.Restore{Rate: 1e6, Progress: func(done recovery.Restored) { told = append(told, done.Waiting) }})
	if done.Waiting != many+large || len(told) < 5 || told[len(told)-1] != many+large {
		t.Errorf("%v; %v", done, told)
	}
	for i := 1; i < len(told); i++ {
		if step := told[i] - told[i-1]; step < 1 || step > 500 {
			t.Errorf("a page of %d", step)
		}
	}
	if waiting := n.rdb.ZCard(ctx, n.keys().Store).Val(); waiting != many+large {
		t.Errorf("%d wait", waiting)
	}
}

// At a rate of a thousand a second a page has a hundred, and they take their time.
func TestRestoreAtARate(t *testing.T) {
	t.Parallel()
	n := aNight(t)
	var all []string
	for i := range 400 {
		all = append(all, fmt.Sprintf("order %d", i))
	}
	n.sent(1, time.Now(), items(later, all...)...)
	begun, pages := time.Now(), 0
	n.restore(recovery.Restore{Rate: 1000, Progress: func(recovery.Restored) { pages++ }})
	if took := time.Since(begun); pages != 4 || took < 200*time.Millisecond {
		t.Errorf("%d pages in %v", pages, took)
	}
}

// It ends between two pages, and another one goes on.
func TestRestoreInterrupted(t *testing.T) {
	t.Parallel()
	n := aNight(t)
	var all []string
	for i := range 1500 {
		all = append(all, fmt.Sprintf("order %d", i))
	}
	n.sent(1, time.Now(), items(later, all...)...)
	begun, stop := context.WithCancel(ctx)
	defer stop()
	done, err := n.recovery().Restore(begun, recovery.Restore{Rate: 1e6, Patience: -1, Progress: func(recovery.Restored) { stop() }})
	if !errors.Is(err, context.Canceled) || done.Waiting != 500 {
		t.Errorf("%v, %v", done, err)
	}
	n.restores(recovery.Restore{}, recovery.Restored{Waiting: 1000, There: 500})
}

// Only some topics, by their names in the namespace.
func TestRestoreOfTopics(t *testing.T) {
	t.Parallel()
	n := aNight(t)
	bare := n.topic.Name
	for _, space := range []string{"shop", "shop:eu", ""} {
		n.topic.Name = protocol.Qualify(space, bare)
		n.sent(1, time.Now(), items(later, "of "+space)...)
	}
	n.topic.Name = protocol.Qualify("shop", bare)
	n.cfg.Namespace = "shop"
	_, err := n.recovery().Restore(ctx, recovery.Restore{Topics: []string{"of another name"}})
	oneLine(t, err, "restore", "of another name", "a topic that the journal knows: eu:"+bare+", "+bare)
	if !errors.Is(err, message.ErrInvalid) {
		t.Error(err)
	}
	n.restores(recovery.Restore{Topics: []string{bare, bare}}, recovery.Restored{Waiting: 1})
	n.holds("of shop:4000000000000", "")
	if held := n.rdb.HGet(ctx, protocol.DefinitionKey(n.topic.Name), "namespace").Val(); held != "shop" {
		t.Errorf("namespace %q", held)
	}
	n.restores(recovery.Restore{}, recovery.Restored{Waiting: 1, There: 1}) // that of shop:eu may be of shop
	n.cfg.Namespace = ""
	n.restores(recovery.Restore{Topics: []string{bare}}, recovery.Restored{Waiting: 1})
	n.restores(recovery.Restore{}, recovery.Restored{There: 3})
}

// The definition comes first. Which part of a name is a namespace is left to who knows it.
func TestRestoreDefines(t *testing.T) {
	t.Parallel()
	n := aNight(t)
	n.topic.Name = "shop:" + n.topic.Name
	n.sent(1, time.Now(), items(later, "a")...)
	n.restores(recovery.Restore{}, recovery.Restored{Waiting: 1})
	held := n.rdb.HGetAll(ctx, protocol.DefinitionKey(n.topic.Name)).Val()
	if _, told := held["namespace"]; told || held["kind"] != "fixed-time" || held["slots"] != "2" || held["layout"] != "1" {
		t.Errorf("%v", held)
	}
	listed, err := n.rdb.SIsMember(ctx, protocol.TopicsKey, n.topic.Name).Result()
	if err != nil || !listed {
		t.Errorf("listed %v, %v", listed, err)
	}

	n.empty()
	must.Do(t, n.rdb.HSet(ctx, protocol.DefinitionKey(n.topic.Name), "kind", "priority", "slots", 2, "literal", 0, "notes", 1, "layout", 1).Err())
	for _, dry := range []bool{false, true} {
		_, err := n.recovery().Restore(ctx, recovery.Restore{DryRun: dry, Patience: -1})
		oneLine(t, err, "topic "+n.topic.Name, "Kind is fixed-time in this program and priority in Redis", "Notes is false in this program and true in Redis")
		if !errors.Is(err, message.ErrTopicConflict) {
			t.Error(err)
		}
	}
	n.holds("", "")
}

// One message by its content, wherever it was.
func TestRestoreOneMessage(t *testing.T) {
	t.Parallel()
	n := aNight(t)
	n.sent(1, time.Now(), items(later, "a", "b", "c")...)
	n.ended(message.Died, 7, "x", "c")
	n.restores(recovery.Restore{Content: "b"}, recovery.Restored{Waiting: 1})
	n.holds("b:4000000000000", "")
	n.restores(recovery.Restore{Content: "c"}, recovery.Restored{Dead: 1})
	n.restores(recovery.Restore{Content: "unheard of"}, recovery.Restored{})
	n.holds("b:4000000000000", "c")
}

// Dead ones are left, if asked for, and so is one whose content is not known.
func TestRestoreOfTheDead(t *testing.T) {
	t.Parallel()
	n := aNight(t)
	n.sent(1, time.Now(), items(later, "a", "b")...)
	n.ended(message.Died, 7, "x", "a", "told of, and never sent")
	n.restores(recovery.Restore{LeaveDead: true}, recovery.Restored{Waiting: 1})
	n.holds("b:4000000000000", "")
	n.restores(recovery.Restore{}, recovery.Restored{Dead: 1, There: 1, Unknown: 1})

	n = newNight(t, n.p, n.rdb, message.KindPriority, false)
	n.sent(1, time.Now(), items(70, "a")...)
	n.sent(1, time.Now(), items(1<<52, "of a high priority")...)
	n.ended(message.Died, 7, "x", "a")
	n.restores(recovery.Restore{Topics: []string{n.topic.Name}}, recovery.Restored{Waiting: 1, Dead: 1, Twice: 1})
	if why, _ := protocol.ParseFailure(n.rdb.HGet(ctx, n.keys().Why, "a").Val()); why.Priority != 70 {
		t.Errorf("%+v", why)
	}
}

// Those whose time to live is over are left, or come back to live for ever. The others have what is left.
func TestRestoreOfExpired(t *testing.T) {
	t.Parallel()
	n := newNight(t, newPlace(t, "SQLite", false), servertest.SharedRedis(t).Client(t), message.KindPriority, true)
	ago := time.Now().Add(-time.Minute)
	send := func(number int64, content, note string) {
		n.sent(number, ago, record.SentItem{Content: content, Score: 20, Note: note})
	}
	send(4, "lives", `120000 {"k":"v"}`)
	send(5, "over", "1000")
	send(6, "sent twice", "1000")
	send(7, "sent twice", "")
	send(5, "over", "1000")
	n.ended(message.Done, 7, "", "over")
	send(8, "over", "1000")
	n.restores(recovery.Restore{}, recovery.Restored{Waiting: 2, Twice: 2, Expired: 1})
	n.holds("lives:20 sent twice:20", "")
	n.restores(recovery.Restore{Expired: true}, recovery.Restored{Waiting: 1, There: 2, Twice: 1})
	n.holds("lives:20 over:20 sent twice:20", "")
	at := ago.UnixMilli()
	for content, want := range map[string]string{
		"lives": fmt.Sprintf(`4 1 %d %d %d {"k":"v"}`, at, at, at+120_000), "over": fmt.Sprintf("8 1 %d %d 0", at, at),
		"sent twice": fmt.Sprintf("7 2 %d %d 0", at, at),
	} {
		if note := n.rdb.HGet(ctx, n.keys().Note(), content).Val(); note != want {
			t.Errorf("%s: note %q, not %q", content, note, want)
		}
	}
}

// Behind a rollback, only what was sent, brought back or died since.
func TestRestoreSince(t *testing.T) {
	t.Parallel()
	n := aNight(t)
	now := time.Now()
	hour := now.Add(-time.Hour)
	n.sent(1, hour.Add(-time.Minute), items(later, "old", "old and dead", "old and sent again", "ended and sent again")...)
	n.ended(message.Done, 2, "", "ended and sent again")
	n.sent(3, now, items(later, "new", "old and sent again", "ended and sent again")...)
	n.ended(message.Died, 4, "x", "old and dead")
	n.sent(record.UnknownNumber, hour.Add(-time.Minute), items(later, "old, and another one is over")...)
	n.sent(3, now, items(later, "old, and another one is over")...)
	n.ended(message.Done, 4, "", "old, and another one is over")
	n.restores(recovery.Restore{Since: hour, DryRun: true}, recovery.Restored{Waiting: 3, Dead: 1})
	n.restores(recovery.Restore{Since: now.Add(time.Hour)}, recovery.Restored{})
	n.restores(recovery.Restore{Content: "old"}, recovery.Restored{Waiting: 1})
	n.empty()
	n.restores(recovery.Restore{Since: hour}, recovery.Restored{Waiting: 4, Dead: 1}) // "old" was brought back since
}

// What was not due when Redis lost it cannot have been handled. The definition shows when that was at
// the latest.
func TestRestorePerhapsTwice(t *testing.T) {
	t.Parallel()
	n := aNight(t)
	begin := time.Now().Add(-time.Hour)
	at := func(d time.Duration) int64 { return begin.Add(d).UnixMilli() }
	n.sent(1, begin.Add(-time.Minute), items(at(0), "due before")...)
	n.sent(1, begin.Add(-time.Minute), items(at(30*time.Minute), "due meanwhile")...)
	n.sent(1, begin.Add(-time.Minute), items(at(2*time.Hour), "due later")...)
	define := func(created time.Time) {
		must.Do(t, n.rdb.HSet(ctx, protocol.DefinitionKey(n.topic.Name), "kind", "fixed-time", "slots", 2, "literal", 0, "notes", 0, "layout", 1, "created", created.UnixMilli()).Err())
	}
	n.restores(recovery.Restore{DryRun: true}, recovery.Restored{Waiting: 3, Twice: 2}) // it is not known since when it is lost
	define(begin.Add(10 * time.Minute))
	n.restores(recovery.Restore{DryRun: true}, recovery.Restored{Waiting: 3, Twice: 1})
	// Programs write a definition again within half a minute. So this may have been sent to the new Redis.
	n.sent(1, begin.Add(10*time.Minute-20*time.Second), items(at(40*time.Minute), "sent since, perhaps")...)
	n.sent(1, begin.Add(10*time.Minute-20*time.Second), items(at(2*time.Hour), "and due later")...)
	n.restores(recovery.Restore{DryRun: true}, recovery.Restored{Waiting: 5, Twice: 2})
	define(begin.Add(-time.Hour)) // not lost as a whole
	n.restores(recovery.Restore{DryRun: true}, recovery.Restored{Waiting: 5, Twice: 3})
}

// It waits until living programs have written what they hold.
func TestRestoreWaitsForOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		n := newNight(t, p, servertest.SharedRedis(t).Client(t), message.KindFixedTime, false)
		other := p.open(t, journal.Config{Lag: 700 * time.Millisecond})
		s := []*record.Sends{{Topic: n.topic, Slot: 1, Number: 1, At: time.Now(), Items: items(later, "a")}}
		other.Sent(s, behind)
		awaitRoom(t, other) // it is known to live
		s[0].Items = items(later, "b")
		other.Sent(s, behind)
		done, err := n.recovery().Restore(ctx, recovery.Restore{Patience: await.Patience})
		must.Do(t, err)
		if done != (recovery.Restored{Waiting: 2}) {
			t.Error(done)
		}
		closed(t, other)

		s[0].Items = items(later, "c")
		killed := p.open(t, journal.Config{Lag: time.Minute})
		killed.Sent(s, behind)
		exec(t, p.url, fmt.Sprintf("INSERT INTO rmq_writer (id, host, began, flushed, closed, flushes) VALUES (7, 'h', 0, %d, 0, 1)", time.Now().UnixMilli()))
		done, err = n.recovery().Restore(ctx, recovery.Restore{Patience: 100 * time.Millisecond})
		must.Do(t, err)
		if done.There != 2 || done.Late < 1 || !strings.Contains(done.String(), "late") {
			t.Error(done)
		}
	})
}

// A line that says it all.
func TestRestoredInOneLine(t *testing.T) {
	t.Parallel()
	for want, done := range map[string]recovery.Restored{
		"48112 waiting, 311 dead, 57 perhaps twice": {Waiting: 48112, Dead: 311, Twice: 57},
		"0 waiting, 0 dead, 0 perhaps twice, 1 there already, 2 expired and left, 3 perhaps brought back, 4 dead of unknown content, 5 programs late": {
			There: 1, Expired: 2, Unsure: 3, Unknown: 4, Late: 5,
		},
	} {
		if got := done.String(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
