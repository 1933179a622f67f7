package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/message"
)

// pageContents is how many contents are looked at together.
const pageContents = 500

// entry is all that is known of one content of a slot.
type entry struct {
	hash  ledger.Hash
	sent  []ledger.Sent
	ended []ledger.Ended
}

func (e *entry) verdict() ledger.Verdict { return ledger.Fold(e.sent, e.ended) }

// topicKept is a row of rmq_topic.
type topicKept struct {
	id               int64
	name, definition string
}

// topicsKept are all topics that the journal knows.
func (j *Journal) topicsKept(ctx context.Context) (all []topicKept, err error) {
	err = j.query(ctx, func(rows *sql.Rows) error {
		var t topicKept
		err := rows.Scan(&t.id, &t.name, &t.definition)
		all = append(all, t)
		return err
	}, "SELECT id, name, definition FROM rmq_topic ORDER BY id")
	return all, err
}

// slots are those of a topic with sends, in order. Each is found by one step in the index.
func (j *Journal) slots(ctx context.Context, topic int64) (all []int, err error) {
	for slot := int64(-1); ; {
		var next sql.NullInt64
		if err := j.db.QueryRowContext(ctx, j.dialect.bind("SELECT MIN(slot) FROM rmq_sent WHERE topic = ? AND slot > ?"), topic, slot).Scan(&next); err != nil {
			return nil, err
		}
		if !next.Valid {
			return all, nil
		}
		slot = next.Int64
		all = append(all, int(slot))
	}
}

// walk shows all contents of a slot with sends, in pages: each content whole, and none twice.
func (j *Journal) walk(ctx context.Context, topic int64, slot int, show func([]entry) error) error {
	after := []byte{}
	for {
		var upTo []byte
		err := j.db.QueryRowContext(ctx, j.dialect.bind(
			"SELECT hash FROM (SELECT DISTINCT hash FROM rmq_sent WHERE topic = ? AND slot = ? AND hash > ? ORDER BY hash LIMIT "+itoa(pageContents)+") page ORDER BY hash DESC LIMIT 1"),
			topic, slot, after).Scan(&upTo)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		page, err := j.entries(ctx, topic, slot, "hash > ? AND hash <= ?", after, upTo)
		if err != nil {
			return err
		}
		if err := show(page); err != nil {
			return err
		}
		after = upTo
	}
}

// entries are the contents of a slot with a hash in some range. The ends are read first: a send that is
// written between the two is seen without its end, and so as owed, and no end is seen without its send.
func (j *Journal) entries(ctx context.Context, topic int64, slot int, where string, args ...any) ([]entry, error) {
	args = append([]any{topic, slot}, args...)
	ends := map[ledger.Hash][]ledger.Ended{}
	err := j.query(ctx, func(rows *sql.Rows) error {
		var e ledger.Ended
		var hash []byte
		err := rows.Scan(&hash, &e.ID, &e.Number, &e.At, &e.What, &e.Attempt, &e.Worker, &e.Host, &e.Reason)
		if err == nil {
			ends[ledger.Hash(hash)] = append(ends[ledger.Hash(hash)], e)
		}
		return err
	}, "SELECT hash, id, number, at, what, attempt, worker, host, reason FROM rmq_ended WHERE topic = ? AND slot = ? AND "+where+" ORDER BY hash, id", args...)
	if err != nil {
		return nil, err
	}
	var all []entry
	err = j.query(ctx, func(rows *sql.Rows) error {
		var s ledger.Sent
		var hash, content []byte
		if err := rows.Scan(&hash, &s.ID, &s.Number, &s.At, &s.Score, &s.Keeps, &s.Note, &content, &s.Writer); err != nil {
			return err
		}
		s.Content = string(content)
		if n := len(all); n == 0 || all[n-1].hash != ledger.Hash(hash) {
			all = append(all, entry{hash: ledger.Hash(hash), ended: ends[ledger.Hash(hash)]})
			delete(ends, ledger.Hash(hash))
		}
		last := &all[len(all)-1]
		last.sent = append(last.sent, s)
		return nil
	}, "SELECT hash, id, number, at, score, keeps, note, content, writer FROM rmq_sent WHERE topic = ? AND slot = ? AND "+where+" ORDER BY hash, id", args...)
	for hash, ended := range ends { // the sends are not known, or not any more
		all = append(all, entry{hash: hash, ended: ended})
	}
	return all, err
}

// query shows each row of an answer.
func (j *Journal) query(ctx context.Context, show func(*sql.Rows) error, text string, args ...any) error {
	rows, err := j.db.QueryContext(ctx, j.dialect.bind(text), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := show(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// History tells what happened to a content, in each slot where it was. The topic is named with its
// namespace in front. It shows what is in SQL: rows of the last Lag may still be on their way.
func (j *Journal) History(ctx context.Context, topic, content string) ([]ledger.History, error) {
	var id int64
	err := j.db.QueryRowContext(ctx, j.dialect.bind("SELECT id FROM rmq_topic WHERE name = ?"), topic).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("journal: history: %w", &message.InvalidError{Field: "topic", Value: topic, Limit: "one that the journal knows"})
	}
	if err != nil {
		return nil, j.dialect.advise("history", err)
	}
	slots, err := j.slots(ctx, id)
	if err != nil {
		return nil, j.dialect.advise("history", err)
	}
	hash := ledger.HashOf(content)
	var all []ledger.History
	for _, slot := range slots {
		found, err := j.entries(ctx, id, slot, "hash = ?", hash[:])
		if err != nil {
			return nil, j.dialect.advise("history", err)
		}
		all = append(all, histories(slot, found)...)
	}
	return all, nil
}
