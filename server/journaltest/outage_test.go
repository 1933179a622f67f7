package journaltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/message"
)

// A killed server loses nothing that a send has waited for, and gets nothing twice.
func TestKilledServerKeepsWhatWasWaitedFor(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, p *place) {
		j := p.open(t, journal.Config{Wait: true, WaitAtMost: await.Patience})
		const kills, senders, least = 3, 16, 300
		var told answers
		var number, kept atomic.Int64
		stop := make(chan struct{})
		for range senders {
			told.group.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					content := fmt.Sprintf("order %d", number.Add(1))
					answer := make(chan error, 1)
					j.Sent(sends(1, content), func(err error) { answer <- err })
					if err := <-answer; err != nil {
						t.Errorf("%s: %v", content, err)
						return
					}
					kept.Add(1)
				}
			})
		}
		for range kills {
			enough := kept.Load() + least
			await.True(t, "sends are kept", func() bool { return kept.Load() >= enough })
			p.server.Kill()
			p.server.Restart(t)
		}
		close(stop)
		told.group.Wait()
		closed(t, j)
		if rows, contents := p.number(t, "SELECT COUNT(*) FROM rmq_sent"), p.number(t, "SELECT COUNT(DISTINCT hash) FROM rmq_sent"); rows != kept.Load() || contents != rows {
			t.Errorf("%d rows of %d contents, %d sends", rows, contents, kept.Load())
		}
		if n := p.number(t, "SELECT COUNT(*) FROM rmq_gap"); n != 0 {
			t.Errorf("%d gaps", n)
		}
	})
}

// behindProxy is the same place, reached through a proxy.
func (p *place) behindProxy(t testing.TB) (*place, *servertest.Proxy) {
	t.Helper()
	proxy := servertest.NewProxy(t, p.server.Addr())
	return &place{url: strings.Replace(p.url, p.server.Addr(), proxy.Addr(), 1), server: p.server}, proxy
}

// A commit whose answer is lost counts once: of the topic, of the first transaction, of others.
func TestLostAnswersOfCommits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		if p.server == nil {
			return // no network
		}
		far, proxy := p.behindProxy(t)
		j := far.open(t, journal.Config{Wait: true, WaitAtMost: await.Patience})
		var told answers
		const times = 6
		for i := range times {
			lost := proxy.LoseNextReply("COMMIT")
			told.send(j, fmt.Sprintf("order %d", i))
			told.group.Wait()
			<-lost
		}
		closed(t, j)
		if rows := p.number(t, "SELECT COUNT(*) FROM rmq_sent"); len(told.nilFor) != times || rows != times {
			t.Errorf("%d rows; %d were kept, %v", rows, len(told.nilFor), told.errs)
		}
		if writers, topics := p.number(t, "SELECT COUNT(*) FROM rmq_writer"), p.number(t, "SELECT COUNT(*) FROM rmq_topic"); writers != 1 || topics != 1 {
			t.Errorf("%d writers, %d topics", writers, topics)
		}
	})
}

// Nor is a batch written twice where the next try, which finds that it counts, has no answer, either.
func TestLostAnswersBehindLostCommits(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		if p.server == nil {
			return // no network
		}
		far, proxy := p.behindProxy(t)
		j := far.open(t, journal.Config{Wait: true, WaitAtMost: await.Patience})
		var told answers
		sent := 0
		await.True(t, "a COMMIT and a ROLLBACK are lost", func() bool {
			lost := proxy.LoseNextReply("COMMIT")
			told.send(j, fmt.Sprintf("order %d", sent))
			sent++
			<-lost
			lost = proxy.LoseNextReply("ROLLBACK") // most likely before the next try, which comes behind a pause
			told.group.Wait()
			select {
			case <-lost:
				return true
			default:
				return false
			}
		})
		closed(t, j)
		if rows := p.number(t, "SELECT COUNT(*) FROM rmq_sent"); len(told.nilFor) != sent || rows != int64(sent) {
			t.Errorf("%d rows; %d were kept, %v", rows, len(told.nilFor), told.errs)
		}
	})
}

// The gap says exactly what is missing.
func TestGapEqualsWhatIsMissing(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, p *place) {
		j := p.open(t, journal.Config{Lag: time.Millisecond, Buffer: 64 << 10})
		number, ends := int64(0), int64(0)
		send := func(n int64) {
			for range n {
				number++
				j.Sent(sends(1, fmt.Sprintf("order %d", number)), behind)
				if number%3 == 0 {
					ends++
					j.Observe(end(message.Done, 2, fmt.Sprintf("order %d", number)))
				}
			}
		}
		send(100)
		await.True(t, "all sends are written", func() bool { return p.number(t, "SELECT COUNT(*) FROM rmq_sent") == 100 })
		for round := range int64(2) {
			p.server.Kill()
			send(3000)
			p.server.Restart(t)
			await.True(t, "the gap is written", func() bool { return p.number(t, "SELECT COUNT(*) FROM rmq_gap") > round })
			awaitRoom(t, j)
			send(10) // there is room again
		}
		closed(t, j)

		status, err := p.open(t, journal.Config{}).Status(ctx)
		must.Do(t, err)
		var missingSends, missingEnds int64
		for _, g := range status.Gaps {
			missingSends, missingEnds = missingSends+g.Sends, missingEnds+g.Endings
			if g.Ends.Before(g.Begins) || time.Since(g.Begins) > await.Patience*5 {
				t.Errorf("gap from %v to %v", g.Begins, g.Ends)
			}
		}
		if missingSends == 0 || status.Sent+missingSends != number || status.Ended+missingEnds != ends {
			t.Errorf("%d sends: %d rows and %d in gaps; %d ends: %d rows and %d in gaps",
				number, status.Sent, missingSends, ends, status.Ended, missingEnds)
		}
		// The last sends of each outage had no room; those behind it had.
		if n := p.number(t, "SELECT COUNT(*) FROM rmq_sent WHERE id > (SELECT MAX(id) FROM rmq_gap)"); n < 10 {
			t.Errorf("%d rows behind the last gap", n)
		}
	})
}

// A server hangs for longer than a send waits: the sender gets an error, and the rows come later, once. A sender
// that waits longer gets none.
func TestPausedServer(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, p *place) {
		const callers = 200
		j, patient := p.open(t, journal.Config{Wait: true, WaitAtMost: 2 * time.Second}), p.open(t, journal.Config{Wait: true, WaitAtMost: await.Patience})
		var before, during, meanwhile answers
		again := 0
		keepsAgain := func() {
			t.Helper()
			await.True(t, "it keeps a send in time", func() bool {
				var one answers
				one.send(j, fmt.Sprintf("again %d", again))
				one.group.Wait()
				again++
				return len(one.errs) == 0
			})
		}
		keepsAgain()
		for i := range callers {
			before.send(patient, fmt.Sprintf("before %d", i))
		}
		before.group.Wait()
		p.server.Pause()
		for i := range callers {
			during.send(j, fmt.Sprintf("during %d", i))
			meanwhile.send(patient, fmt.Sprintf("meanwhile %d", i))
		}
		during.group.Wait() // two seconds
		p.server.Resume()
		meanwhile.group.Wait()
		keepsAgain()
		closed(t, j)
		closed(t, patient)
		if len(before.errs)+len(meanwhile.errs) != 0 || len(during.errs) != callers {
			t.Errorf("not kept in time: %d before, %d and %d during", len(before.errs), len(during.errs), len(meanwhile.errs))
		}
		for _, err := range during.errs {
			if !errors.Is(err, message.ErrNotJournaled) {
				t.Error(err)
			}
		}
		if rows, contents := p.number(t, "SELECT COUNT(*) FROM rmq_sent"), p.number(t, "SELECT COUNT(DISTINCT hash) FROM rmq_sent"); rows != int64(3*callers+again) || contents != rows {
			t.Errorf("%d rows, %d contents", rows, contents)
		}
	})
}

// A file that somebody else holds is as good as a server that is away.
func TestLockedFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "SQLite", true)
	j := p.open(t, journal.Config{Wait: true, WaitAtMost: 300 * time.Millisecond})
	holder, _ := p.db(t)
	conn, err := holder.Conn(ctx)
	must.Do(t, err)
	_, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	must.Do(t, err)
	var told answers
	for i := range 100 {
		told.send(j, fmt.Sprintf("order %d", i))
	}
	told.group.Wait()
	if len(told.errs) != 100 {
		t.Errorf("%d of 100 were told", len(told.errs))
	}
	oneLine(t, told.errs[0], "not committed within 300ms")
	_, err = conn.ExecContext(ctx, "ROLLBACK")
	must.Do(t, err)
	must.Do(t, conn.Close())
	closed(t, j)
	if n := p.number(t, "SELECT COUNT(DISTINCT hash) FROM rmq_sent"); n != 100 {
		t.Errorf("%d rows", n)
	}
}

// Another program holds a file for longer than SQLite waits: Open and the last write of Close wait for their
// turn.
func TestOpenAndCloseWaitForTheFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "SQLite", true)
	closed(t, p.open(t, journal.Config{})) // makes the tables
	first, _ := p.db(t)
	holder, err := first.Conn(ctx)
	must.Do(t, err)
	defer holder.Close()
	hold := func() (release func()) {
		_, err := holder.ExecContext(ctx, "BEGIN IMMEDIATE")
		must.Do(t, err)
		return func() {
			_, err := holder.ExecContext(ctx, "ROLLBACK")
			must.Do(t, err)
		}
	}
	// This database waits only 1 ms for the file of SQLite.
	db, dialect := p.db(t)
	db.SetMaxOpenConns(2)
	var conns []*sql.Conn
	for range 2 {
		conn, err := db.Conn(ctx)
		must.Do(t, err)
		_, err = conn.ExecContext(ctx, "PRAGMA busy_timeout = 1")
		must.Do(t, err)
		conns = append(conns, conn)
	}
	for _, conn := range conns {
		must.Do(t, conn.Close())
	}
	// Long is as long as so many attempts that fail.
	long := func() {
		other, _ := p.db(t)
		conn, err := other.Conn(ctx)
		must.Do(t, err)
		defer conn.Close()
		_, err = conn.ExecContext(ctx, "PRAGMA busy_timeout = 10")
		must.Do(t, err)
		for range 4 {
			if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err == nil {
				t.Fatal("nobody holds the file")
			}
		}
	}
	release := hold()
	opened := make(chan *journal.Journal)
	go func() {
		j, err := journal.Open(db, dialect, journal.Config{})
		if err != nil {
			t.Error(err)
		}
		opened <- j
	}()
	long()
	release()
	j := <-opened
	if j == nil {
		return
	}
	before := p.number(t, "SELECT COUNT(*) FROM rmq_writer WHERE closed > 0")
	j.Sent(sends(1, "a"), behind)
	await.True(t, "the send is written", func() bool { return p.number(t, "SELECT COUNT(*) FROM rmq_sent") == 1 })
	release = hold()
	end := make(chan error)
	go func() { end <- j.Close(ctx) }()
	long()
	release()
	must.Do(t, <-end)
	if n := p.number(t, "SELECT COUNT(*) FROM rmq_writer WHERE closed > 0"); n != before+1 {
		t.Errorf("%d writers have said that they ended, after %d", n, before)
	}
}

// Open waits for a file only so long, and says what to do.
func TestOpenGivesUpAtAFileThatStaysLocked(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "SQLite", true)
	closed(t, p.open(t, journal.Config{})) // makes the tables
	first, _ := p.db(t)
	holder, err := first.Conn(ctx)
	must.Do(t, err)
	defer holder.Close()
	_, err = holder.ExecContext(ctx, "BEGIN IMMEDIATE")
	must.Do(t, err)
	refused(t, p.url, "another program holds the file locked")
}

func TestRefuseWhenFull(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, p *place) {
		j := p.open(t, journal.Config{Lag: time.Millisecond, Buffer: 64 << 10, Full: journal.Refuse})
		must.Do(t, j.Ready())
		p.server.Kill()
		sent := int64(0)
		for j.Ready() == nil {
			sent++
			j.Sent(sends(1, fmt.Sprintf("order %d", sent)), behind)
			if sent > 10_000 {
				t.Fatal("it is never full")
			}
		}
		if err := j.Ready(); !errors.Is(err, journal.ErrFull) {
			t.Errorf("Ready: %v", err)
		}
		await.True(t, "the journal knows why", func() bool { return strings.Contains(j.Ready().Error(), "start the server") })
		oneLine(t, j.Ready(), "the journal is full", "connection refused")
		j.Sent(sends(1, "on its way when the buffer was full"), behind) // Redis has it: it is kept
		sent++
		p.server.Restart(t)
		await.True(t, "the journal is ready", func() bool { return j.Ready() == nil })
		closed(t, j)
		if n := p.number(t, "SELECT COUNT(*) FROM rmq_sent"); n != sent {
			t.Errorf("%d rows, %d sends", n, sent)
		}
		if !errors.Is(j.Ready(), message.ErrClosed) {
			t.Errorf("Ready after Close: %v", j.Ready())
		}
	})
}

func TestCloseWithoutServer(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, p *place) {
		j := p.open(t, journal.Config{Wait: true, WaitAtMost: await.Patience})
		p.server.Kill()
		var told answers
		for i := range 7 {
			told.send(j, fmt.Sprintf("order %d", i))
		}
		j.Observe(end(message.Done, 2, "order 1", "order 2"))
		await.True(t, "the trouble is known", func() bool {
			status, _ := j.Status(ctx) // what this process knows is there also without a server
			return status.Trouble != nil
		})
		short, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		oneLine(t, j.Close(short), "7 sends and 2 ends of messages are not in SQL")
		told.group.Wait()
		if len(told.errs) != 7 || !errors.Is(told.errs[0], message.ErrNotJournaled) {
			t.Errorf("%d were told: %v", len(told.errs), told.errs)
		}
		oneLine(t, told.errs[0], "the journal was closed before: journal: write: ")
		told.send(j, "after Close")
		told.group.Wait()
		if len(told.errs) != 8 || !errors.Is(told.errs[7], message.ErrNotJournaled) {
			t.Error("a send after Close was kept")
		}
	})
}

// A sender that waits gets an error at once: there is no room.
func TestWaitingWithoutRoom(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, p *place) {
		j := p.open(t, journal.Config{Wait: true, WaitAtMost: time.Hour, Buffer: 64 << 10})
		p.server.Kill()
		var full answers
		told := make(chan error, 10_000)
		for len(told) == 0 {
			j.Sent(sends(1, "order"), func(err error) { told <- err })
		}
		err := <-told
		if !errors.Is(err, message.ErrNotJournaled) {
			t.Error(err)
		}
		oneLine(t, err, "the buffer is full")
		must.Do(t, j.Ready()) // sends go on
		p.server.Restart(t)
		awaitRoom(t, j)
		if n := p.number(t, "SELECT COUNT(*) FROM rmq_gap WHERE sends > 0"); n != 1 {
			t.Errorf("%d gaps", n)
		}
		full.send(j, "order")
		full.group.Wait()
		if len(full.errs) != 0 {
			t.Error(full.errs)
		}
		closed(t, j)
	})
}
