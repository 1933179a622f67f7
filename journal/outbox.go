package journal

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/message"
)

// parcels is how many rows of the outbox one statement writes at the most.
const parcels = 100

// SendTx sends messages if tx commits, and only then. It writes them into the table rmq_outbox, and a
// [Relay] sends what is there when it has committed. tx is of the journal's database. Messages are
// checked as by Send, with the same errors, before anything is written; the topic's definition is compared
// when they are sent.
//
// Times that count from the send (Range, In, TTL, Unique) count from when the relay sends, and the topic has
// the namespace of the relay's client.
//
// Messages of one topic are sent in the order of their rows' ids. Two transactions have the order of
// their calls of SendTx; where that of their commits matters, call it behind a statement that
// locks what both change.
func (j *Journal) SendTx(ctx context.Context, tx *sql.Tx, t message.Topic, messages ...message.Message) error {
	if err := j.sendTx(ctx, tx, t, messages); err != nil {
		return fmt.Errorf("send to topic %s: %w", t.Name, err)
	}
	return nil
}

func (j *Journal) sendTx(ctx context.Context, tx *sql.Tx, t message.Topic, messages []message.Message) error {
	switch {
	case tx == nil:
		return &message.InvalidError{Field: "tx", Value: "nil", Limit: "a transaction of the journal's database"}
	case j.closed():
		return message.ErrClosed
	}
	if err := t.Validate(); err != nil {
		return err
	}
	at := time.Now().UnixMilli()
	rows := make([]any, 0, 3*len(messages))
	for i, m := range messages {
		c, err := checked.Open(t, m, j.cfg.MaxContent)
		if err != nil {
			if len(messages) > 1 {
				err = fmt.Errorf("message %d: %w", i, err)
			}
			return err
		}
		rows = append(rows, t.Name, at, pack(t, c))
	}
	for len(rows) > 0 {
		n := min(len(rows), 3*parcels)
		text := "INSERT INTO rmq_outbox (topic, at, message, refused) VALUES (?, ?, ?, '')" + strings.Repeat(", (?, ?, ?, '')", n/3-1)
		if _, err := tx.ExecContext(ctx, j.dialect.bind(text), rows[:n]...); err != nil {
			return j.dialect.advise("outbox", err)
		}
		rows = rows[n:]
	}
	signal(j.committing)
	return nil
}

// closed reports whether Close was called.
func (j *Journal) closed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.closing
}

func (j *Journal) readOutbox(ctx context.Context, s *ledger.Status) error {
	err := j.query(ctx, func(rows *sql.Rows) error {
		var since sql.NullInt64
		err := rows.Scan(&s.Outbox.Waiting, &since)
		if since.Valid {
			s.Outbox.Since = time.UnixMilli(since.Int64)
		}
		return err
	}, "SELECT COUNT(*), MIN(at) FROM rmq_outbox WHERE refused = ''")
	if err != nil {
		return err
	}
	if err := j.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM rmq_outbox WHERE refused <> ''").Scan(&s.Outbox.Refused); err != nil {
		return err
	}
	return j.query(ctx, func(rows *sql.Rows) error {
		var id int64
		var topic, reason string
		err := rows.Scan(&id, &topic, &reason)
		s.Outbox.Reason = fmt.Sprintf("row %d, to topic %s: %s", id, topic, reason)
		return err
	}, "SELECT id, topic, refused FROM rmq_outbox WHERE refused <> '' ORDER BY id LIMIT 1")
}
