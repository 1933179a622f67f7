package journaltest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
)

// The disk of a server is full: sends fail clearly, or go on, and the gaps count what is missing. With room
// again, all that was kept is written.
func TestFullDiskOfAServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind  string
		start func(testing.TB, *servertest.Disk, ...string) *servertest.Database
		ends  string // a statement that makes a server without room end itself
	}{
		{"PostgreSQL", servertest.PostgreSQLOn, "SELECT pg_switch_wal()"},
		{"MariaDB", servertest.MariaDBOn, ""},
	} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			disk := servertest.NewDisk(t, 192<<20)
			if disk == nil {
				return // it has run elsewhere
			}
			srv := c.start(t, disk)
			exec(t, srv.URL("rmq"), "CREATE DATABASE empty", "CREATE DATABASE new")
			exec(t, srv.URL("empty"), "SELECT 1") // PostgreSQL makes a file for the first who comes
			f := &full{TB: t, disk: disk, p: &place{url: srv.URL("rmq"), server: srv}}
			f.topic = rmq.Topic{Name: fmt.Sprintf("full-%d", time.Now().UnixNano()), Kind: rmq.KindFixedTime, Slots: 1}
			f.refuse()
			f.drop()
			if c.ends != "" {
				f.end(c.ends)
			}
		})
	}
}

// full is a journal on a disk that is full at times.
type full struct {
	testing.TB
	disk  *servertest.Disk
	p     *place
	topic rmq.Topic
	sent  int64
}

const makeRoom = "make room on the server's disk"

// with does something with a client, and returns when its journal is closed.
func (f *full) with(mode journal.Full, do func(j *journal.Journal, send func() error)) {
	f.Helper()
	j := f.p.open(f, journal.Config{Lag: time.Millisecond, Buffer: 256 << 10, Full: mode})
	client, err := rmq.New(rmq.Config{Redis: servertest.SharedRedis(f).Client(f), Journal: j})
	must.Do(f, err)
	long := strings.Repeat("x", 8000)
	do(j, func() error {
		_, err := client.Send(ctx, f.topic, rmq.FixedTime{Content: fmt.Sprint(f.sent, long), In: time.Hour})
		if err == nil {
			f.sent++
		}
		return err
	})
	must.Do(f, client.Close(ctx))
	closed(f, j)
}

// fill fills the disk, and the room that the server has in its files.
func (f *full) fill(j *journal.Journal, send func() error) {
	f.Helper()
	f.disk.Fill(f)
	var trouble error
	await.True(f, "the trouble is known", func() bool {
		_ = send() // it may be refused
		status, err := j.Status(ctx)
		must.Do(f, err)
		trouble = status.Trouble
		return trouble != nil && strings.Contains(trouble.Error(), makeRoom) // at first a busy disk may be slow
	})
	oneLine(f, trouble, "journal: write: ", makeRoom)
}

// refuse lets sends fail.
func (f *full) refuse() {
	f.Helper()
	f.with(journal.Refuse, func(j *journal.Journal, send func() error) {
		must.Do(f, send())
		f.fill(j, send)
		var err error
		await.True(f, "a send fails", func() bool { err = send(); return err != nil })
		oneLine(f, err, "the journal is full: journal: write: ", makeRoom)
		if !errors.Is(err, journal.ErrFull) {
			f.Error(err)
		}
		for _, name := range []string{"empty", "new"} {
			db, dialect := (&place{url: f.p.server.URL(name)}).db(f)
			_, err := journal.Open(db, dialect, journal.Config{})
			oneLine(f, err, "journal: open: ", makeRoom)
		}
		f.disk.Free(f)
		await.True(f, "sends go on", func() bool { return send() == nil })
	})
	f.told(0)
}

// drop lets them go on.
func (f *full) drop() {
	f.Helper()
	f.with(journal.Drop, func(j *journal.Journal, send func() error) {
		must.Do(f, send())
		f.fill(j, send)
		for range 100 { // more than it keeps
			must.Do(f, send())
		}
		f.disk.Free(f)
		awaitRoom(f, j)
		must.Do(f, send())
	})
	f.told(f.sent - f.p.number(f, "SELECT COUNT(*) FROM rmq_sent"))
	if f.missing() == 0 {
		f.Error("nothing is missing")
	}
}

// end lets the server end itself, since its own log finds no room.
func (f *full) end(statement string) {
	f.Helper()
	before := f.missing()
	f.with(journal.Refuse, func(j *journal.Journal, send func() error) {
		must.Do(f, send())
		f.disk.Fill(f)
		db, _ := f.p.db(f)
		_, _ = db.ExecContext(ctx, statement) // it may not live to answer
		await.True(f, "the server is away", func() bool {
			err := send()
			return err != nil && strings.Contains(err.Error(), "start the server")
		})
		f.disk.Free(f)
		f.p.server.Restart(f)
		await.True(f, "sends go on", func() bool { return send() == nil })
	})
	f.told(before)
}

// missing is how many sends the gaps count.
func (f *full) missing() int64 {
	f.Helper()
	return f.p.number(f, "SELECT COALESCE(SUM(sends), 0) FROM rmq_gap")
}

// told expects that so many sends are missing, and that the gaps count them.
func (f *full) told(missing int64) {
	f.Helper()
	rows := f.p.number(f, "SELECT COUNT(*) FROM rmq_sent")
	if told := f.missing(); told != missing || rows+missing != f.sent {
		f.Errorf("%d rows of %d sends, %d in gaps, not %d", rows, f.sent, told, missing)
	}
}
