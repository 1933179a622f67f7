package journaltest

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/databases"
)

func TestMain(m *testing.M) {
	lossChild()
	child()
	servertest.AtOnce(3) // they have databases, and processes of their own, that are busy
	servertest.Main(m)
}

var ctx = context.Background()

// place is a database that a test has for itself.
type place struct {
	url    string
	server *servertest.Database // nil for SQLite
}

// newPlace makes an empty database of a kind, on the server of all tests or on a private one.
func newPlace(t testing.TB, kind string, private bool) *place {
	t.Helper()
	choose := func(one, shared func(testing.TB) *servertest.Database) *servertest.Database {
		if private {
			return one(t)
		}
		return shared(t)
	}
	var srv *servertest.Database
	switch kind {
	case "SQLite":
		return &place{url: "sqlite:" + filepath.Join(t.TempDir(), "journal of 100%?.db")}
	case "PostgreSQL":
		srv = choose(func(t testing.TB) *servertest.Database { return servertest.PostgreSQL(t) }, servertest.SharedPostgreSQL)
	case "MariaDB":
		srv = choose(func(t testing.TB) *servertest.Database { return servertest.MariaDB(t) }, servertest.SharedMariaDB)
	}
	name := fmt.Sprintf("j%d", databaseNumber.Add(1))
	exec(t, srv.URL("rmq"), "CREATE DATABASE "+name)
	p := &place{url: srv.URL(name), server: srv}
	if kind == "PostgreSQL" {
		p.url += "?connect_timeout=60" // a busy machine may need more than the usual 5 s
	}
	return p
}

var databaseNumber atomic.Int64

var kinds = []string{"SQLite", "PostgreSQL", "MariaDB"}

// each runs a test on every kind of database.
func each(t *testing.T, test func(t *testing.T, p *place)) {
	t.Helper()
	on(t, kinds, false, test)
}

// eachDrawn runs a long test by day on one kind of database, drawn by chance, and by night on every one.
func eachDrawn(t *testing.T, test func(t *testing.T, p *place)) {
	t.Helper()
	on(t, drawn(t, kinds), false, test)
}

// eachServer does so on servers, which the test may harm.
func eachServer(t *testing.T, test func(t *testing.T, p *place)) {
	t.Helper()
	on(t, drawn(t, kinds[1:]), true, test)
}

// drawn is one of them by day, all by night.
func drawn(t *testing.T, of []string) []string {
	t.Helper()
	if night.Is() {
		return of
	}
	n := sharetest.Rand(t).IntN(len(of))
	return of[n : n+1]
}

func on(t *testing.T, kinds []string, private bool, test func(t *testing.T, p *place)) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, newPlace(t, kind, private))
		})
	}
}

// db is a database handle of its own, closed with the test.
func (p *place) db(t testing.TB) (*sql.DB, journal.Dialect) {
	t.Helper()
	db, dialect, err := databases.Open(p.url)
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, db.Close()) })
	return db, dialect
}

// open opens a journal, closed with the test unless that is done before. Who waits for it waits as long as tests do, unless
// the test says otherwise.
func (p *place) open(t testing.TB, cfg journal.Config) *journal.Journal {
	t.Helper()
	if cfg.WaitAtMost == 0 {
		cfg.WaitAtMost = await.Patience
	}
	db, dialect := p.db(t)
	j, err := journal.Open(db, dialect, cfg)
	must.Do(t, err)
	t.Cleanup(func() {
		_ = j.Close(await.CleanupContext(t)) // a test that cares has looked
	})
	return j
}

// exec runs statements with a handle of their own.
func exec(t testing.TB, url string, statements ...string) {
	t.Helper()
	db, _, err := databases.Open(url)
	must.Do(t, err)
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// number is the answer to a question for one number.
func (p *place) number(t testing.TB, query string) (n int64) {
	t.Helper()
	db, _, err := databases.Open(p.url)
	must.Do(t, err)
	defer db.Close()
	must.Do(t, db.QueryRowContext(ctx, query).Scan(&n))
	return n
}

// texts is the answer to a question for one column of texts.
func (p *place) texts(t testing.TB, query string) (all []string) {
	t.Helper()
	db, _, err := databases.Open(p.url)
	must.Do(t, err)
	defer db.Close()
	rows, err := db.QueryContext(ctx, query)
	must.Do(t, err)
	defer rows.Close()
	for rows.Next() {
		var text string
		must.Do(t, rows.Scan(&text))
		all = append(all, text)
	}
	must.Do(t, rows.Err())
	return all
}

// closed closes a journal. It may hold ten thousand rows, which a busy machine writes in more than a minute.
func closed(t testing.TB, j *journal.Journal) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 5*await.Patience)
	defer cancel()
	must.Do(t, j.Close(ctx))
}

var orders = message.Topic{Name: "shop:orders", Kind: message.KindFixedTime, Slots: 4}

// sends makes the report of a producer about some sends to slot 1.
func sends(number int64, contents ...string) []*record.Sends {
	s := &record.Sends{Topic: orders, Slot: 1, Number: number, At: time.Now()}
	for _, c := range contents {
		s.Items = append(s.Items, record.SentItem{Content: c, Score: 1_700_000_000_000})
	}
	return []*record.Sends{s}
}

// end makes the report of a worker about the end of some messages of slot 1.
func end(what message.What, fence int64, contents ...string) *message.Event {
	e := &message.Event{Topic: orders, Slot: 1, Fence: fence, Worker: "worker 1", At: time.Now()}
	for _, c := range contents {
		e.Items = append(e.Items, message.Item{What: what, Content: c, Attempt: 1})
	}
	return e
}

// behind is for sends whose answer does not matter.
func behind(error) {}

// answers collects the answers to senders.
type answers struct {
	group  sync.WaitGroup
	mu     sync.Mutex
	errs   []error
	nilFor []string
}

// send sends one content and notes the answer.
func (a *answers) send(j *journal.Journal, content string) {
	a.group.Add(1)
	j.Sent(sends(1, content), func(err error) {
		defer a.group.Done()
		a.mu.Lock()
		defer a.mu.Unlock()
		if err == nil {
			a.nilFor = append(a.nilFor, content)
		} else {
			a.errs = append(a.errs, err)
		}
	})
}

// documentedRights are the rules of an ACL user in docs/DEPLOYMENT.md, in the line behind a mark.
func documentedRights(t testing.TB, mark, user string) string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/DEPLOYMENT.md")
	must.Do(t, err)
	_, rest, found := strings.Cut(string(doc), "<!-- acl:"+mark+" -->\n```\nACL SETUSER "+user+" on >secret ")
	line, _, _ := strings.Cut(rest, "\n")
	if !found {
		t.Fatalf("docs/DEPLOYMENT.md has no line acl:%s", mark)
	}
	return line
}

func oneLine(t testing.TB, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Error("no error")
		return
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q is not one line with %q", err, w)
		}
	}
}
