package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// schemaVersion is the newest schema that this program knows. Versions that stand in rmq_schema are
// never changed, only added to: migrations[n] makes n+1 of n.
const schemaVersion = 1

// table is one to be made, with at most one index.
type table struct{ name, columns, index string }

var migrations = [schemaVersion][]table{{
	{"rmq_topic", `id INTEGER NOT NULL PRIMARY KEY, name {name} NOT NULL UNIQUE, definition {text} NOT NULL`, ""},
	{"rmq_sent", `id {id} NOT NULL PRIMARY KEY, topic INTEGER NOT NULL, slot INTEGER NOT NULL, hash {hash} NOT NULL, number BIGINT NOT NULL,
		at BIGINT NOT NULL, score BIGINT NOT NULL, keeps SMALLINT NOT NULL, note {text} NOT NULL, content {bytes} NOT NULL, writer BIGINT NOT NULL`, "topic, slot, hash, id"},
	{"rmq_ended", `id {id} NOT NULL PRIMARY KEY, topic INTEGER NOT NULL, slot INTEGER NOT NULL, hash {hash} NOT NULL, number BIGINT NOT NULL,
		at BIGINT NOT NULL, what {text} NOT NULL, attempt INTEGER NOT NULL, worker {text} NOT NULL, host {text} NOT NULL, reason {text} NOT NULL`, "topic, slot, hash, id"},
	{"rmq_missing", `topic INTEGER NOT NULL, slot INTEGER NOT NULL, messages BIGINT NOT NULL, PRIMARY KEY (topic, slot)`, ""},
	{"rmq_outbox", `id {serial}, topic {name} NOT NULL, at BIGINT NOT NULL, message {bytes} NOT NULL, refused {text} NOT NULL`, "topic, id"},
	{"rmq_once", `topic {name} NOT NULL, slot INTEGER NOT NULL, hash {hash} NOT NULL, fence BIGINT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (topic, slot, hash)`, "at"},
	{"rmq_gap", `id {id} NOT NULL PRIMARY KEY, writer BIGINT NOT NULL, begins BIGINT NOT NULL, ends BIGINT NOT NULL, sends BIGINT NOT NULL, endings BIGINT NOT NULL`, ""},
	{"rmq_writer", `id {id} NOT NULL PRIMARY KEY, host {text} NOT NULL, began BIGINT NOT NULL, flushed BIGINT NOT NULL, closed BIGINT NOT NULL, flushes BIGINT NOT NULL`, ""},
	{"rmq_state", `name {name} NOT NULL PRIMARY KEY, value BIGINT NOT NULL`, ""},
}}

// migrate makes the tables, or brings older ones up to date. Of several programs that do so at once
// one works, and the others find it done.
func (d Dialect) migrate(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	held, err := d.schema(ctx, conn)
	if err != nil || held == schemaVersion {
		return err
	}
	if d.unlock != "" { // a lock of the connection
		var got sql.NullInt64
		if err := conn.QueryRowContext(ctx, d.lock).Scan(&got); err != nil {
			return err
		}
		if got.Int64 != 1 {
			return errors.New("another program has been changing the tables for a minute: look what became of it, and try again")
		}
		defer conn.ExecContext(context.WithoutCancel(ctx), d.unlock)
	}
	if _, err := conn.ExecContext(ctx, d.begin); err != nil {
		return err
	}
	if err := d.migrateLocked(ctx, conn); err != nil {
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // the connection is of no more use than it was
		return err
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

func (d Dialect) migrateLocked(ctx context.Context, conn *sql.Conn) error {
	if d.lock != "" && d.unlock == "" { // a lock of the transaction
		if _, err := conn.ExecContext(ctx, d.lock); err != nil {
			return err
		}
	}
	held, err := d.schema(ctx, conn)
	if err != nil || held == schemaVersion { // another program has done it meanwhile
		return err
	}
	for version := held; version < schemaVersion; version++ {
		for _, t := range migrations[version] {
			for _, text := range d.create(t) {
				if _, err := conn.ExecContext(ctx, text); err != nil {
					return fmt.Errorf("make table %s: %w", t.name, err)
				}
			}
		}
	}
	// Where tables are not made in a transaction, any of this may be done already. The version comes
	// last: it says that all is done.
	for _, name := range []string{counter, compacted, relaying, reconciling} {
		var there int
		if err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM rmq_state WHERE name = '"+name+"'").Scan(&there); err != nil {
			return err
		}
		if there == 0 {
			if _, err := conn.ExecContext(ctx, "INSERT INTO rmq_state (name, value) VALUES ('"+name+"', 0)"); err != nil {
				return err
			}
		}
	}
	rest := []string{
		"CREATE TABLE IF NOT EXISTS rmq_schema (version INTEGER NOT NULL PRIMARY KEY)" + d.options,
		"INSERT INTO rmq_schema (version) VALUES (" + itoa(schemaVersion) + ")",
		"DELETE FROM rmq_schema WHERE version < " + itoa(schemaVersion),
	}
	for _, text := range rest {
		if _, err := conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

func (d Dialect) create(t table) []string {
	columns := d.columns(t.columns)
	if t.index == "" {
		return []string{"CREATE TABLE IF NOT EXISTS " + t.name + " (" + columns + ")" + d.options}
	}
	if d.inTable {
		return []string{"CREATE TABLE IF NOT EXISTS " + t.name + " (" + columns + ", INDEX " + t.name + "_index (" + t.index + "))" + d.options}
	}
	return []string{
		"CREATE TABLE IF NOT EXISTS " + t.name + " (" + columns + ")",
		"CREATE INDEX IF NOT EXISTS " + t.name + "_index ON " + t.name + " (" + t.index + ")",
	}
}

// schema is the version of the tables, 0 if there are none.
func (d Dialect) schema(ctx context.Context, conn *sql.Conn) (version int, err error) {
	var there int
	if err := conn.QueryRowContext(ctx, d.hasTable).Scan(&there); err != nil || there == 0 {
		return 0, err
	}
	if err := conn.QueryRowContext(ctx, "SELECT COALESCE(MAX(version), 0) FROM rmq_schema").Scan(&version); err != nil {
		return 0, err
	}
	if version > schemaVersion {
		return 0, fmt.Errorf("%w: schema %d is newer than this program knows (%d): use a newer rmq", ErrSchema, version, schemaVersion)
	}
	return version, nil
}

// writable fails unless the tables can be written.
func (d Dialect) writable(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, text := range []string{
		"UPDATE rmq_state SET value = value + 1 WHERE name = '" + counter + "'",
		"INSERT INTO rmq_gap (id, writer, begins, ends, sends, endings) VALUES (-1, 0, 0, 0, 0, 0)",
		"DELETE FROM rmq_gap WHERE id = -1",
	} {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}
