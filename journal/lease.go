package journal

import (
	"context"
	"database/sql"
	"time"

	"github.com/slotmq/go-rmq/internal/ledger"
)

// leaseFor is how long a lease lasts, so how long the others wait when its holder was killed.
const leaseFor = 8 * time.Second

// lease is the right to do what one process at a time may do. A row of rmq_state says until when
// somebody has it, by the clock of the database. Its holder knows it by that value, which changes each time:
// a holder that was too slow finds another value there, and what it wrote in that transaction is undone.
//
// It needs no connection of its own, which may be lost without anybody noticing, and no
// transaction that stays open while Redis is waited for.
type lease struct {
	*Journal
	name  string
	value int64     // of its row while it is held; 0 when it is not
	until time.Time // until then it is held for certain
}

// hold takes the lease or extends it, in a transaction whose other statements count only if it is
// held. It is false if another process has it.
func (l *lease) hold(ctx context.Context, do func(tx *sql.Tx) error) (bool, error) {
	began := time.Now()
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	mine := l.value
	l.value, l.until = 0, time.Time{} // what becomes of the transaction is not known until it has committed
	held, err := l.update(ctx, tx, mine)
	if err != nil || !held {
		return false, err
	}
	var value int64
	if err := tx.QueryRowContext(ctx, "SELECT value FROM rmq_state WHERE name = '"+l.name+"'").Scan(&value); err != nil {
		return false, err
	}
	if do != nil {
		if err := do(tx); err != nil {
			return false, err
		}
	}
	if err := tx.Commit(); err != nil {
		return false, err
	}
	l.value, l.until = value, began.Add(leaseFor)
	return true, nil
}

// update extends a lease that is held, or takes one that is free: by its time, or because that is so far ahead that a
// wrong clock must have set it.
func (l *lease) update(ctx context.Context, tx *sql.Tx, mine int64) (bool, error) {
	now, span := l.dialect.now, leaseFor.Milliseconds()
	end := now + " + " + itoa(int(span))
	text, args := "UPDATE rmq_state SET value = "+end+" WHERE name = '"+l.name+"' AND (value < "+now+" OR value > "+now+" + "+itoa(int(2*span))+")", []any(nil)
	if mine != 0 {
		text = "UPDATE rmq_state SET value = CASE WHEN " + end + " > value THEN " + end + " ELSE value + 1 END WHERE name = '" + l.name + "' AND value = ?"
		args = []any{mine}
	}
	result, err := tx.ExecContext(ctx, l.dialect.bind(text), args...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}

// release lets others have the lease at once.
func (l *lease) release() {
	if l.value == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	// If it fails they wait until it is over.
	_, _ = l.db.ExecContext(ctx, l.dialect.bind("UPDATE rmq_state SET value = 0 WHERE name = '"+l.name+"' AND value = ?"), l.value)
	l.value = 0
}

// reconciling is the row of rmq_state that says until when somebody compares with Redis, again and again.
const reconciling = "reconciling"

// lead is the lease of who compares.
type lead struct{ lease }

// Lead returns one that is not held.
func (j *Journal) Lead() ledger.Lead { return &lead{lease{Journal: j, name: reconciling}} }

// Hold takes it, or keeps it for some seconds more. It returns until when it is held; zero if another
// process has it.
func (l *lead) Hold(ctx context.Context) (until time.Time, err error) {
	_, err = l.hold(ctx, nil)
	return l.until, l.dialect.advise("take the lead", err)
}

// Compared reports whether a process compares the journal with Redis again and again at present.
func (j *Journal) Compared(ctx context.Context) (bool, error) {
	var n int
	err := j.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM rmq_state WHERE name = '"+reconciling+"' AND value >= "+j.dialect.now).Scan(&n)
	return n > 0, j.dialect.advise("ask who compares", err)
}

// Release lets another process have it at once.
func (l *lead) Release() { l.release() }
