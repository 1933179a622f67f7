package journal

import (
	"context"
	"database/sql"
	"time"

	"github.com/slotmq/go-rmq/internal/ledger"
)

// Status reads all rows to tell what is owed: some seconds for a million.
func (j *Journal) Status(ctx context.Context) (ledger.Status, error) {
	var s ledger.Status
	j.mu.Lock()
	s.Held, s.Trouble = j.held, j.cause
	j.mu.Unlock()
	for _, read := range []func(context.Context, *ledger.Status) error{j.readRows, j.readGaps, j.readWriters, j.readOutbox, j.readOwed} {
		if err := read(ctx, &s); err != nil {
			return s, j.dialect.advise("status", err)
		}
	}
	var err error
	s.Forgotten, err = j.Forgotten(ctx)
	return s, err
}

func (j *Journal) readRows(ctx context.Context, s *ledger.Status) error {
	for _, t := range []struct {
		table string
		rows  *int64
	}{{"rmq_sent", &s.Sent}, {"rmq_ended", &s.Ended}} {
		if err := j.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+t.table).Scan(t.rows); err != nil {
			return err
		}
		var at int64
		err := j.query(ctx, func(rows *sql.Rows) error { return rows.Scan(&at) }, "SELECT at FROM "+t.table+" ORDER BY id LIMIT 1")
		if err != nil {
			return err
		}
		if since := time.UnixMilli(at); at != 0 && (s.Since.IsZero() || since.Before(s.Since)) {
			s.Since = since
		}
	}
	return nil
}

func (j *Journal) readGaps(ctx context.Context, s *ledger.Status) error {
	return j.query(ctx, func(rows *sql.Rows) error {
		var g ledger.Gap
		var begins, ends int64
		err := rows.Scan(&g.Writer, &begins, &ends, &g.Sends, &g.Endings)
		g.Begins, g.Ends = time.UnixMilli(begins), time.UnixMilli(ends)
		s.Gaps = append(s.Gaps, g)
		return err
	}, "SELECT writer, begins, ends, sends, endings FROM rmq_gap ORDER BY begins, id")
}

func (j *Journal) readWriters(ctx context.Context, s *ledger.Status) error {
	now := time.Now()
	return j.query(ctx, func(rows *sql.Rows) error {
		var w ledger.Writer
		var began, flushed, closed int64
		err := rows.Scan(&w.ID, &w.Host, &began, &flushed, &closed)
		w.Began, w.Flushed = time.UnixMilli(began), time.UnixMilli(flushed)
		if closed != 0 {
			w.Closed = time.UnixMilli(closed)
		}
		w.Alive = closed == 0 && now.Sub(w.Flushed) < vanished
		if w.Alive {
			s.Behind = max(s.Behind, now.Sub(w.Flushed))
		}
		s.Writers = append(s.Writers, w)
		return err
	}, "SELECT id, host, began, flushed, closed FROM rmq_writer ORDER BY began, id")
}

func (j *Journal) readOwed(ctx context.Context, s *ledger.Status) error {
	topics, err := j.topicsKept(ctx)
	if err != nil {
		return err
	}
	for _, t := range topics {
		slots, err := j.slots(ctx, t.id)
		if err != nil {
			return err
		}
		of := ledger.TopicStatus{Topic: t.name}
		for _, slot := range slots {
			err := j.walk(ctx, t.id, slot, func(page []entry) error {
				for i := range page {
					switch page[i].verdict().What {
					case ledger.Owed:
						of.Owed++
					case ledger.Dead:
						of.Dead++
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		s.Topics = append(s.Topics, of)
	}
	return nil
}
