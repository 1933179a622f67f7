package journaltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/message"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

func canceled() context.Context {
	ended, cancel := context.WithCancel(ctx)
	cancel()
	return ended
}

func TestHistoryAndStatus(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		j := p.open(t, journal.Config{Lag: time.Millisecond})
		j.Sent(sends(1, "a", "b", "c"), behind)
		j.Observe(end(message.Done, 2, "a"))
		j.Observe(end(message.Died, 2, "b"))
		j.Sent(sends(2, "a"), behind)
		closed(t, j)

		j = p.open(t, journal.Config{})
		for content, want := range map[string]string{"a": ledger.Owed, "b": ledger.Dead, "c": ledger.Owed} {
			all, err := j.History(ctx, orders.Name, content)
			must.Do(t, err)
			if len(all) != 1 || all[0].Slot != 1 || all[0].Verdict.What != want || all[0].Verdict.Content != content {
				t.Errorf("%s: %+v", content, all)
			}
		}
		all, err := j.History(ctx, orders.Name, "a")
		must.Do(t, err)
		if h := all[0]; len(h.Sent) != 2 || len(h.Ended) != 1 || h.Sent[0].ID > h.Ended[0].ID || h.Ended[0].ID > h.Sent[1].ID ||
			h.Ended[0].Worker != "worker 1" || h.Ended[0].Host == "" || h.Ended[0].Number != 2 {
			t.Errorf("%+v", h)
		}
		if all, err := j.History(ctx, orders.Name, "unheard of"); err != nil || len(all) != 0 {
			t.Errorf("%v %v", all, err)
		}
		if _, err := j.History(ctx, "nowhere", "a"); !errors.Is(err, message.ErrInvalid) {
			t.Error(err)
		}

		s, err := j.Status(ctx)
		must.Do(t, err)
		if s.Sent != 4 || s.Ended != 2 || len(s.Gaps) != 0 || time.Since(s.Since) > time.Hour || s.Behind != 0 || s.Held != 0 || s.Trouble != nil {
			t.Errorf("%+v", s)
		}
		if len(s.Topics) != 1 || s.Topics[0] != (ledger.TopicStatus{Topic: orders.Name, Owed: 2, Dead: 1}) {
			t.Errorf("%+v", s.Topics)
		}
		if len(s.Writers) != 1 || s.Writers[0].Alive || s.Writers[0].Closed.IsZero() {
			t.Errorf("%+v", s.Writers)
		}
		_, err = j.Status(canceled())
		oneLine(t, err, "journal: status")
	})
}

// Compact keeps what is owed and what is dead, page by page, and what is not old.
func TestCompact(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		j := p.open(t, journal.Config{Lag: time.Millisecond})
		const n = 1800 // more than three pages
		for _, slot := range []int{0, 3} {
			for i := range n {
				s := sends(1, fmt.Sprintf("order %d", i))
				s[0].Slot = slot
				j.Sent(s, behind)
				if i%3 == 0 { // a flood that merges
					j.Sent(s, behind)
				}
				what := []message.What{message.Done, message.Died, message.Failed}[i%3]
				e := end(what, 2, fmt.Sprintf("order %d", i))
				e.Slot = slot
				j.Observe(e)
			}
		}
		closed(t, j)
		j = p.open(t, journal.Config{})
		old, err := j.Compact(ctx, time.Now().Add(-time.Hour))
		must.Do(t, err)
		if old != (ledger.Compacted{}) {
			t.Errorf("nothing is old: %+v", old)
		}
		before, err := j.Status(ctx)
		must.Do(t, err)
		got, err := j.Compact(ctx, time.Now().Add(time.Hour))
		must.Do(t, err)
		after, err := j.Status(ctx)
		must.Do(t, err)
		if want := (ledger.TopicStatus{Topic: orders.Name, Owed: 2 * n / 3, Dead: 2 * n / 3}); before.Topics[0] != want || after.Topics[0] != want {
			t.Errorf("%+v, then %+v", before.Topics, after.Topics)
		}
		// One of every three contents is done, sent twice.
		if got.Sent != 2*2*n/3 || got.Ended != 2*n/3 || got.Writers != 1 || after.Sent != 2*2*n/3 || after.Ended != 2*n/3 {
			t.Errorf("%+v; left %d and %d", got, after.Sent, after.Ended)
		}
		if again, err := j.Compact(ctx, time.Now().Add(time.Hour)); err != nil || again != (ledger.Compacted{}) {
			t.Errorf("again: %+v %v", again, err)
		}
	})
}

// The numbers of rows are in the order in which they were reported, over sends and ends, batches
// and transactions.
func TestOrderOfRows(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		j := p.open(t, journal.Config{Lag: time.Millisecond})
		const n = 9000 // more than two transactions
		big := strings.Repeat("x", 2000)
		for i := range n {
			j.Sent(sends(int64(i), "order "+big[:i%2000]), behind)
			if i%4 == 0 {
				j.Observe(end(message.Done, int64(i), "order"))
			}
		}
		closed(t, j)
		sent, ended := p.ids(t, "rmq_sent"), p.ids(t, "rmq_ended")
		if len(sent) != n || len(ended) != n/4 {
			t.Fatalf("%d sends and %d ends", len(sent), len(ended))
		}
		if !slices.IsSorted(sent) {
			t.Error("sends in another order")
		}
		for i, id := range ended {
			if id <= sent[4*i] {
				t.Fatalf("end %d is before its send", i)
			}
		}
	})
}

// ids are those of the rows of a table, in the order of the reports.
func (p *place) ids(t *testing.T, table string) (ids []int) {
	t.Helper()
	for _, text := range p.texts(t, "SELECT id FROM "+table+" ORDER BY number") {
		id, err := strconv.Atoi(text)
		must.Do(t, err)
		ids = append(ids, id)
	}
	return ids
}

// What is older than the Retention goes by itself, and what is owed stays.
func TestRetention(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		p.grewOld(t)
		j := p.open(t, journal.Config{Lag: time.Millisecond})
		j.Sent(sends(1, "new"), behind)
		j.Observe(end(message.Done, 2, "new"))
		await.True(t, "what is old goes", func() bool { return p.contents(t) == "owed new" })
		await.True(t, "the marks of old handlers go", func() bool { return strings.Join(p.texts(t, "SELECT topic FROM rmq_once"), " ") == "new" })
		if n := p.number(t, "SELECT COUNT(*) FROM rmq_ended"); n != 1 {
			t.Errorf("%d ends", n)
		}
		closed(t, j)
	})
}

// One process compacts at a time, and not whenever one starts. A wrong clock does not keep all from
// it.
func TestRetentionInTurn(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "SQLite", false)
	p.grewOld(t)
	exec(t, p.url, "UPDATE rmq_state SET value = "+itoa(time.Now().UnixMilli())+" WHERE name = 'compacted'")
	j := p.open(t, journal.Config{Lag: time.Millisecond})
	j.Sent(sends(1, "new"), behind)
	await.True(t, "there was more than a beat", func() bool { return p.number(t, "SELECT COUNT(*) FROM rmq_writer WHERE flushes > 1") == 1 }) // more than a beat
	if got := p.contents(t); got != "old owed new" {
		t.Errorf("%q is left, though it was compacted only now", got)
	}
	closed(t, j)
	exec(t, p.url, "UPDATE rmq_state SET value = value + 86400000000 WHERE name = 'compacted'")
	p.open(t, journal.Config{})
	await.True(t, "what is old goes", func() bool { return p.contents(t) == "owed new" })
}

// grewOld writes one message that is owed and one that has ended, eight days ago.
func (p *place) grewOld(t testing.TB) {
	t.Helper()
	db, dialect := p.db(t)
	j, err := journal.Open(db, dialect, journal.Config{Lag: time.Millisecond})
	must.Do(t, err)
	j.Sent(sends(1, "old", "owed"), behind)
	j.Observe(end(message.Done, 2, "old"))
	exec(t, p.url, makeEffects)
	for _, content := range []string{"old", "new"} {
		d := delivered{Topic: orders, Content: content, Fence: 6}
		d.Topic.Notes, d.Topic.Name = true, content
		_, err := effect(ctx, j, db, d, content, "commit")
		must.Do(t, err)
	}
	closed(t, j)
	at := itoa(time.Now().Add(-8 * 24 * time.Hour).UnixMilli())
	exec(t, p.url, "UPDATE rmq_sent SET at = "+at, "UPDATE rmq_ended SET at = "+at)
	exec(t, p.url, "UPDATE rmq_once SET at = "+at+" WHERE topic = 'old'")
}

func (p *place) contents(t testing.TB) string {
	t.Helper()
	return strings.Join(p.texts(t, "SELECT content FROM rmq_sent ORDER BY id"), " ")
}
