package journal

import (
	"context"
	"database/sql"
	"maps"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/ledger"
)

// remembered stands in front of the names of rmq_state that are a Memory.
const remembered = "reconcile "

// numbers are the memory by the names in rmq_state.
func numbers(m *ledger.Memory) map[string]int64 {
	all := map[string]int64{
		"key": m.Key, "adopted": ms(m.Adopted), "adopted id": m.AdoptedID,
		"forgot": ms(m.Forgot.Noticed), "forgot after": m.Forgot.After, "forgot since": ms(m.Forgot.Since),
	}
	for n, t := range m.Ticks {
		all["tick "+itoa(n)], all["history "+itoa(n)] = t.ID, t.History
	}
	return all
}

func memoryOf(all map[string]int64) *ledger.Memory {
	m := &ledger.Memory{
		Key: all["key"], Adopted: timeOf(all["adopted"]), AdoptedID: all["adopted id"], Ticks: map[int]ledger.Tick{},
		Forgot: ledger.Forgot{Noticed: timeOf(all["forgot"]), After: all["forgot after"], Since: timeOf(all["forgot since"])},
	}
	for name := range all {
		if text, is := strings.CutPrefix(name, "tick "); is {
			if n, err := strconv.Atoi(text); err == nil {
				m.Ticks[n] = ledger.Tick{ID: all[name], History: all["history "+text]}
			}
		}
	}
	return m
}

// ms is a time as the tables have it: the zero time is 0.
func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// Memory is what is remembered.
func (j *Journal) Memory(ctx context.Context) (*ledger.Memory, error) {
	all, err := recall(ctx, j.db)
	return memoryOf(all), j.dialect.advise("recall", err)
}

func recall(ctx context.Context, db interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
},
) (map[string]int64, error) {
	rows, err := db.QueryContext(ctx, "SELECT name, value FROM rmq_state WHERE name LIKE '"+remembered+"%'")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string]int64{}
	for rows.Next() {
		var name string
		var value int64
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		all[strings.TrimPrefix(name, remembered)] = value
	}
	return all, rows.Err()
}

// Remember changes what is remembered, in one transaction that nobody else can come between, and returns all of it.
func (j *Journal) Remember(ctx context.Context, change func(*ledger.Memory)) (*ledger.Memory, error) {
	var m *ledger.Memory
	err := j.alone(ctx, func(tx *sql.Tx) error {
		before, err := recall(ctx, tx)
		if err != nil {
			return err
		}
		m = memoryOf(before)
		if m.Key == 0 {
			m.Key = 1 + rand.Int64N(1<<53)
		}
		change(m)
		after := numbers(m)
		m = memoryOf(after) // in whole ms
		maps.DeleteFunc(after, func(name string, value int64) bool { return value == 0 })
		for name := range before {
			if before[name] == after[name] {
				delete(after, name)
				continue
			}
			if _, err := tx.ExecContext(ctx, j.dialect.bind("DELETE FROM rmq_state WHERE name = ?"), remembered+name); err != nil {
				return err
			}
		}
		for name, value := range after {
			if _, err := tx.ExecContext(ctx, j.dialect.bind("INSERT INTO rmq_state (name, value) VALUES (?, ?)"), remembered+name, value); err != nil {
				return err
			}
		}
		return nil
	})
	return m, j.dialect.advise("remember", err)
}

// alone runs a short transaction with the counter in its hands, as each that writes has.
func (j *Journal) alone(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := j.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, "UPDATE rmq_state SET value = value WHERE name = '"+counter+"'"); err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// Newest is the ID of the newest row. All rows up to it are committed.
func (j *Journal) Newest(ctx context.Context) (id int64, err error) {
	err = j.db.QueryRowContext(ctx, "SELECT value FROM rmq_state WHERE name = '"+counter+"'").Scan(&id)
	return id, j.dialect.advise("newest", err)
}

// Overlooked reports whether something may wait in Redis that the journal does not know, since somebody has
// looked for such: a process has ended without writing its last rows, or had no room for some.
func (j *Journal) Overlooked(ctx context.Context, m *ledger.Memory) (bool, error) {
	var gaps, writers int64
	err := j.db.QueryRowContext(ctx, j.dialect.bind("SELECT COUNT(*) FROM rmq_gap WHERE id > ?"), m.AdoptedID).Scan(&gaps)
	if err == nil {
		err = j.db.QueryRowContext(ctx, j.dialect.bind("SELECT COUNT(*) FROM rmq_writer WHERE closed = 0 AND flushed < ? AND flushed >= ?"),
			time.Now().Add(-vanished).UnixMilli(), ms(m.Adopted)-vanished.Milliseconds()).Scan(&writers)
	}
	return gaps+writers > 0, j.dialect.advise("look for what was not written", err)
}
