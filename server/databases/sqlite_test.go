package databases_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/server/databases"
)

// A transaction of a program may read before it writes, even while others write: it asks for the right to write when it
// begins. For SQLite refuses it to one that has read what is not the newest any more.
func TestTransactionMayReadFirst(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := "sqlite:" + t.TempDir() + "/journal.db"
	open := func() *sql.DB {
		db, _, err := databases.Open(url)
		must.Do(t, err)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	db := open()
	_, err := db.ExecContext(ctx, "CREATE TABLE orders (id INTEGER)")
	must.Do(t, err)
	tx, err := db.BeginTx(ctx, nil)
	must.Do(t, err)
	defer tx.Rollback()
	n := -1
	must.Do(t, tx.QueryRowContext(ctx, "SELECT COUNT(*) FROM orders").Scan(&n))
	other, err := open().Conn(ctx)
	must.Do(t, err)
	defer other.Close()
	_, err = other.ExecContext(ctx, "PRAGMA busy_timeout = 1")
	must.Do(t, err)
	if _, err := other.ExecContext(ctx, "INSERT INTO orders VALUES (1)"); err == nil {
		t.Error("another one writes meanwhile")
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO orders VALUES (2)")
	must.Do(t, err)
	must.Do(t, tx.Commit())
	_, err = other.ExecContext(ctx, "INSERT INTO orders VALUES (1)")
	must.Do(t, err)
}
