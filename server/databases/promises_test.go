package databases_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
	"github.com/slotmq/go-rmq/server/databases"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	db, _, err := databases.Open("sqlite:" + filepath.Join(t.TempDir(), "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	waits := time.Duration(pragma(t, db, "busy_timeout")) * time.Millisecond
	log := pragma(t, db, "wal_autocheckpoint") * pragma(t, db, "page_size")

	journal := promises.Of(t, "docs/JOURNAL.md")
	journal.Says("| the same | after 5 s, with `database is locked`", 5*time.Second, waits)
	journal.Says("to 20 s, with `another program", 20*time.Second, 15*time.Second+waits) // 15 s, of package journal, for all tries; the last one may have begun just before
	journal.Says("Under load it grows to 256 MiB at the most", 256<<20, log)
	promises.Of(t, "docs/DEPLOYMENT.md").Says("A program uses up to four connections.", 4, db.Stats().MaxOpenConnections)
}

// pragma is a setting of SQLite.
func pragma(t *testing.T, db *sql.DB, name string) (value int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&value); err != nil {
		t.Fatal(err)
	}
	return value
}
