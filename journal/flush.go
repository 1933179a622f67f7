package journal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"
)

// flush writes a batch in one transaction.
//
// The transaction begins with the counter, and holds it to its end. That makes three things sure.
// The order of ids is that of the commits, over all processes. If a commit was sent and its answer
// is lost, then whoever has the counter next sees whether it counted: rmq_writer.flushes says so, and a batch
// is written exactly once. And a transaction of a connection that is gone cannot come late.
func (j *Journal) flush(b *batch) (err error) {
	ctx, cancel := context.WithTimeout(j.ctx, tryTimeout)
	defer cancel()
	s, err := j.session(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.discard() // with its transaction, and whatever state it is in
			j.conn = nil
		}
	}()
	topics, err := j.topicIDs(ctx, s, b)
	if err != nil {
		return err
	}
	if err := s.begin(ctx); err != nil {
		return err
	}
	rows := int64(b.rows()) + 1 // and a gap
	first, flushes, err := s.takeIDs(ctx, rows, j.writer)
	if err != nil {
		return err
	}
	switch {
	case flushes > j.flushes: // the last try has counted
		if err := s.exec(ctx, "ROLLBACK"); err != nil {
			return err // the next try finds the same
		}
		j.flushes++
		j.flushed = b.closed
		return nil
	case flushes < 0: // the first time, or somebody has taken this writer for dead and cleaned up
		j.flushes = 0
		err = s.exec(ctx, "INSERT INTO rmq_writer (id, host, began, flushed, closed, flushes) VALUES (?, ?, ?, ?, 0, 0)",
			j.writer, j.host, j.began, j.began)
	}
	if err == nil {
		err = j.insert(ctx, s, b, first, topics)
	}
	if err == nil && b.gap != (gap{}) {
		g := b.gap
		err = s.exec(ctx, "INSERT INTO rmq_gap (id, writer, begins, ends, sends, endings) VALUES (?, ?, ?, ?, ?, ?)",
			first+rows-1, j.writer, g.begins, g.ends, g.sends, g.endings)
	}
	if err == nil {
		err = s.exec(ctx, "UPDATE rmq_writer SET flushed = ?, flushes = ? WHERE id = ?", b.closed.UnixMilli(), j.flushes+1, j.writer)
	}
	if err == nil {
		err = s.exec(ctx, "COMMIT")
	}
	if err != nil {
		return err
	}
	j.flushes++
	j.flushed = b.closed
	return nil
}

// session is a connection that is the writer's own, with its prepared statements.
type session struct {
	conn     *sql.Conn
	dialect  Dialect
	prepared map[string]*sql.Stmt
}

// session opens a connection, unless there is one.
func (j *Journal) session(ctx context.Context) (*session, error) {
	if j.conn != nil {
		return j.conn, nil
	}
	conn, err := j.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, dialect: j.dialect, prepared: map[string]*sql.Stmt{}}
	if j.dialect.session != "" {
		if _, err := conn.ExecContext(ctx, j.dialect.session); err != nil {
			s.discard()
			return nil, err
		}
	}
	j.conn = s
	return s, nil
}

// prepare prepares a statement once.
func (s *session) prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	stmt := s.prepared[text]
	if stmt == nil {
		var err error
		if stmt, err = s.conn.PrepareContext(ctx, s.dialect.bind(text)); err != nil {
			return nil, err
		}
		s.prepared[text] = stmt
	}
	return stmt, nil
}

// exec runs a statement; one with parameters is prepared.
func (s *session) exec(ctx context.Context, text string, args ...any) error {
	if len(args) == 0 {
		_, err := s.conn.ExecContext(ctx, text)
		return err
	}
	stmt, err := s.prepare(ctx, text)
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(ctx, args...)
	return err
}

// begin begins a transaction that writes, when it is this one's turn.
func (s *session) begin(ctx context.Context) error {
	return s.dialect.inTurn(ctx, func() error { return s.exec(ctx, s.dialect.begin) })
}

// takeIDs takes n numbers, and the counter with them until the end of the transaction. It returns the
// first of them, and how often the writer has flushed: -1 if it is not known.
func (s *session) takeIDs(ctx context.Context, n, writer int64) (first, flushes int64, err error) {
	if err := s.exec(ctx, "UPDATE rmq_state SET value = value + ? WHERE name = '"+counter+"'", n); err != nil {
		return 0, 0, err
	}
	stmt, err := s.prepare(ctx, "SELECT s.value, COALESCE(w.flushes, -1) FROM rmq_state s LEFT JOIN rmq_writer w ON w.id = ? WHERE s.name = '"+counter+"'")
	if err != nil {
		return 0, 0, err
	}
	if err := stmt.QueryRowContext(ctx, writer).Scan(&first, &flushes); err != nil {
		return 0, 0, err
	}
	return first - n + 1, flushes, nil
}

// discard closes the connection itself: it must not go back to the pool, with a transaction open.
func (s *session) discard() {
	for _, stmt := range s.prepared {
		_ = stmt.Close() // the connection goes, too
	}
	_ = s.conn.Raw(func(any) error { return driver.ErrBadConn }) // which closes it
	_ = s.conn.Close()
}

// signOff says that this writer has ended, and lets its connection go. The writer's goroutine has
// ended.
func (j *Journal) signOff(ctx context.Context) {
	if j.conn == nil {
		return
	}
	if j.flushes > 0 {
		// If it fails, this writer is taken for dead after a while: that costs a look into Redis.
		ctx, cancel := context.WithTimeout(ctx, beat)
		defer cancel()
		if j.conn.begin(ctx) == nil && j.conn.exec(ctx, "UPDATE rmq_writer SET closed = ? WHERE id = ?", time.Now().UnixMilli(), j.writer) == nil {
			_ = j.conn.exec(ctx, "COMMIT")
		}
	}
	j.conn.discard() // its settings are not those of the pool
	j.conn = nil
}
