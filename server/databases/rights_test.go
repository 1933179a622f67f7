package databases_test

import (
	"context"
	"database/sql"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/databases"
)

// What docs/DEPLOYMENT.md has administrators type is enough, and not too much.
func TestDocumentedRights(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind   string
		server func(testing.TB, ...string) *servertest.Database
		reader string // where its rights are granted
	}{{"postgres", servertest.PostgreSQL, "journal"}, {"mysql", servertest.MariaDB, "rmq"}} {
		t.Run(c.kind, func(t *testing.T) {
			t.Parallel()
			server := c.server(t)
			ctx := context.Background()
			administer(t, server.URL("rmq"), documented(t, "sql:"+c.kind))
			db := open(t, server.URLOf("shop", "secret", "journal"))
			j, err := journal.Open(db.DB, db.dialect, journal.Config{Lag: time.Millisecond})
			must.Do(t, err)
			orders := message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4}
			j.Sent([]*record.Sends{{Topic: orders, At: time.Now(), Items: []record.SentItem{{Content: "order 4711", Score: 500}}}}, func(error) {})
			tx, err := db.BeginTx(ctx, nil)
			must.Do(t, err)
			must.Do(t, j.SendTx(ctx, tx, orders, message.Priority{Content: "order 4712", Priority: 500}))
			must.Do(t, tx.Commit())
			must.Do(t, j.Close(ctx))
			_, err = j.Compact(ctx, time.Now())
			must.Do(t, err)

			administer(t, server.URL(c.reader), documented(t, "sql:"+c.kind+"-reader"))
			look := open(t, server.URLOf("look", "secret", "journal"))
			j, err = journal.OpenReadOnly(ctx, look.DB, look.dialect)
			must.Do(t, err)
			status, err := j.Status(ctx)
			must.Do(t, err)
			if status.Sent != 1 || status.Outbox.Waiting != 1 {
				t.Errorf("%+v", status)
			}
			if _, err := journal.Open(look.DB, look.dialect, journal.Config{}); err == nil {
				t.Error("who looks may write")
			}
		})
	}
}

type opened struct {
	*sql.DB
	dialect journal.Dialect
}

func open(t *testing.T, from string) opened {
	t.Helper()
	db, dialect, err := databases.Open(from)
	must.Do(t, err)
	t.Cleanup(func() { db.Close() })
	return opened{db, dialect}
}

func administer(t *testing.T, from string, statements []string) {
	t.Helper()
	db := open(t, from)
	for _, s := range statements {
		if _, err := db.ExecContext(context.Background(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// documented are the lines behind a mark in docs/DEPLOYMENT.md.
func documented(t *testing.T, mark string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/DEPLOYMENT.md")
	must.Do(t, err)
	_, rest, found := strings.Cut(string(text), "<!-- "+mark+" -->\n```\n")
	block, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("docs/DEPLOYMENT.md has no lines %s", mark)
	}
	return strings.Split(strings.TrimSpace(block), "\n")
}

// The forms of URLs in docs/DEPLOYMENT.md are taken, with what is escaped in them.
func TestDocumentedURLs(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"sqlite:/var/lib/rmq/journal.db": "SQLite", "sqlite:journal.db": "SQLite",
		"postgres://shop:secret@host:5432/journal": "PostgreSQL", "postgres://shop:" + url.QueryEscape("s@c/r") + "@host:5432/journal?sslmode=verify-full": "PostgreSQL",
		"mysql://shop:secret@host:3306/journal": "MySQL", "mysql://shop:" + url.QueryEscape("s@c/r") + "@host/journal?tls=true": "MySQL",
	} {
		db, dialect, err := databases.Open(from)
		must.Do(t, err)
		must.Do(t, db.Close())
		if dialect.String() != want {
			t.Errorf("%s: %s", from, dialect)
		}
	}
}
