package journaltest

import (
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/databases"
)

func TestManyOpenAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		var group sync.WaitGroup
		for i := range 6 {
			group.Go(func() {
				db, dialect, err := databases.Open(p.url)
				if err != nil {
					t.Error(err)
					return
				}
				defer db.Close()
				j, err := openBeside(db, dialect, journal.Config{Lag: time.Millisecond})
				if err != nil {
					t.Error(err)
					return
				}
				for n := range 50 {
					j.Sent(sends(1, strings.Repeat("x", 1+i), strings.Repeat("y", 1+n)), behind)
				}
				if err := j.Close(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if n := p.number(t, "SELECT COUNT(*) FROM rmq_schema"); n != 1 {
			t.Errorf("%d versions", n)
		}
		if n := p.number(t, "SELECT COUNT(*) FROM rmq_topic"); n != 1 {
			t.Errorf("%d topics", n)
		}
		if n := p.number(t, "SELECT COUNT(*) FROM rmq_sent"); n != 6*50*2 {
			t.Errorf("%d rows", n)
		}
		if n := p.number(t, "SELECT COUNT(*) FROM rmq_writer WHERE closed > 0"); n != 6 {
			t.Errorf("%d writers", n)
		}
	})
}

func TestNewerSchemaIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		closed(t, p.open(t, journal.Config{}))
		exec(t, p.url, "UPDATE rmq_schema SET version = 99")
		db, dialect := p.db(t)
		_, err := journal.Open(db, dialect, journal.Config{})
		oneLine(t, err, "schema 99 is newer than this program knows (1): use a newer rmq")
		if !errors.Is(err, journal.ErrSchema) {
			t.Error(err)
		}
	})
}

// A program that was killed while it made the tables leaves some of them.
func TestHalfMadeTables(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		closed(t, p.open(t, journal.Config{}))
		exec(t, p.url, "DROP TABLE rmq_schema", "DROP TABLE rmq_ended")
		j := p.open(t, journal.Config{})
		j.Sent(sends(1, "order"), behind)
		j.Observe(end(message.Done, 2, "order"))
		closed(t, j)
		if n := p.number(t, "SELECT COUNT(*) FROM rmq_ended"); n != 1 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestWrongURLs(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"":                           "write sqlite:PATH, postgres://",
		"redis://localhost":          "write sqlite:PATH, postgres://",
		"sqlite:":                    "write sqlite:PATH",
		"postgres://user:secret@h":   "it names no database: write postgres://",
		"mysql:///rmq":               "it names no host: write mysql://",
		"mysql://user:secret@h:x/db": "it cannot be read: the port is a number",
		"mysql://user:sec/ret@h/db":  "write @ as %40, / as %2F",
		"sqlite:" + t.TempDir():      "is a folder: name a file in it",
	} {
		_, _, err := databases.Open(from)
		oneLine(t, err, want, "the URL of the journal")
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q shows the password: %v", from, err)
		}
	}
	for from, want := range map[string]string{
		"postgres://rmq@127.0.0.1:1/rmq":                                       "start the server, or correct host and port",
		"mysql://rmq@127.0.0.1:1/rmq":                                          "start the server, or correct host and port",
		"sqlite:" + filepath.Join(t.TempDir(), "no", "such", "folder", "j.db"): "make its folder",
	} {
		refused(t, from, want)
	}
	each(t, func(t *testing.T, p *place) {
		if p.server != nil {
			refused(t, p.server.URL("nowhere"), "create the database, or correct its name")
		}
	})
}

// refused opens a journal that cannot be opened.
func refused(t *testing.T, from string, want ...string) {
	t.Helper()
	db, dialect, err := databases.Open(from)
	if err != nil {
		t.Error(err)
		return
	}
	defer db.Close()
	j, err := journal.Open(db, dialect, journal.Config{})
	oneLine(t, err, append(want, "journal: open")...)
	if err == nil {
		closed(t, j)
	}
}

func TestWithoutRights(t *testing.T) {
	t.Parallel()
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, "PostgreSQL", true)
		exec(t, p.url, "CREATE USER guest")
		u, err := url.Parse(p.url)
		must.Do(t, err)
		guest := p.server.URLOf("guest", "", strings.TrimPrefix(u.Path, "/"))
		refused(t, guest, "permission denied", "give this user the right to create tables")
		closed(t, p.open(t, journal.Config{}))
		refused(t, guest, "permission denied", "give this user the right to create tables")
		exec(t, p.url, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO guest")
		db, dialect := (&place{url: guest, server: p.server}).db(t)
		j, err := journal.Open(db, dialect, journal.Config{Wait: true})
		must.Do(t, err)
		var told answers
		told.send(j, "order")
		told.group.Wait()
		if len(told.errs) != 0 {
			t.Error(told.errs)
		}
		tx, err := db.BeginTx(ctx, nil)
		must.Do(t, err)
		must.Do(t, j.SendTx(ctx, tx, orders, message.FixedTime{Content: "order", In: time.Hour}))
		noted := delivered{Topic: orders, Content: "order", Fence: 6}
		noted.Topic.Notes = true
		_, err = j.Once(ctx, tx, noted)
		must.Do(t, err)
		must.Do(t, tx.Commit())
		closed(t, j)
		exec(t, p.url, "ALTER USER guest SET default_transaction_read_only = on")
		refused(t, guest, "read-only transaction", "name the primary")
	})
	t.Run("MariaDB", func(t *testing.T) {
		t.Parallel()
		p := newPlace(t, "MariaDB", true)
		exec(t, p.url, "CREATE USER guest@'127.0.0.1'", "CREATE USER locked@'127.0.0.1' IDENTIFIED BY 'secret'")
		u, err := url.Parse(p.url)
		must.Do(t, err)
		name := strings.TrimPrefix(u.Path, "/")
		guest := p.server.URLOf("guest", "", name)
		refused(t, guest, "give this user CREATE, SELECT, INSERT, UPDATE and DELETE")
		refused(t, p.server.URLOf("locked", "wrong", name), "correct the user or the password")
		exec(t, p.url, "GRANT SELECT ON "+name+".* TO guest@'127.0.0.1'")
		refused(t, guest, "give this user CREATE, SELECT, INSERT, UPDATE and DELETE")
		exec(t, p.url, "GRANT CREATE, INDEX, SELECT, INSERT, UPDATE, DELETE ON "+name+".* TO guest@'127.0.0.1'")
		closed(t, (&place{url: guest, server: p.server}).open(t, journal.Config{}))
		exec(t, p.url, "SET GLOBAL read_only = 1")
		refused(t, guest, "name the primary")
	})
}

func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "SQLite", true)
	closed(t, p.open(t, journal.Config{}))
	name := url.URL{Path: strings.TrimPrefix(p.url, "sqlite:")}
	db, err := sql.Open("sqlite", "file:"+name.EscapedPath()+"?mode=ro") // permissions stop no root
	must.Do(t, err)
	defer db.Close()
	_, err = journal.Open(db, journal.SQLite, journal.Config{})
	oneLine(t, err, "make the file and its folder writable")
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "SQLite", true)
	closed(t, p.open(t, journal.Config{}))
	pages := p.number(t, "PRAGMA page_count")
	name := url.URL{Path: strings.TrimPrefix(p.url, "sqlite:")}
	db, err := sql.Open("sqlite", "file:"+name.EscapedPath()+"?_pragma=max_page_count("+itoa(pages+20)+")")
	must.Do(t, err)
	defer db.Close()
	j, err := journal.Open(db, journal.SQLite, journal.Config{Lag: time.Millisecond, Buffer: 64 << 10, Full: journal.Refuse})
	must.Do(t, err)
	await.True(t, "the file is full", func() bool {
		err := j.Ready()
		if err == nil {
			j.Sent(sends(1, strings.Repeat("x", 30_000)), behind)
		}
		return err != nil && strings.Contains(err.Error(), "make room on the disk")
	})
	oneLine(t, j.Ready(), "the journal is full")
	status, err := j.Status(ctx)
	must.Do(t, err)
	oneLine(t, status.Trouble, "make room on the disk")
	_ = j.Close(canceled())
}

func TestBadConfigs(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "SQLite", true)
	db, dialect := p.db(t)
	for _, cfg := range []journal.Config{
		{WaitAtMost: -1}, {Lag: time.Hour}, {Buffer: 100}, {Full: 7}, {Flow: 7},
	} {
		if _, err := journal.Open(db, dialect, cfg); !errors.Is(err, message.ErrInvalid) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	db.SetMaxOpenConns(1)
	if _, err := journal.Open(db, dialect, journal.Config{}); !errors.Is(err, message.ErrInvalid) {
		t.Error(err)
	}
	if _, err := journal.Open(nil, dialect, journal.Config{}); err == nil {
		t.Error("opened without a database")
	}
	if _, err := journal.Open(db, journal.Dialect{}, journal.Config{}); err == nil {
		t.Error("opened without a dialect")
	}
}
