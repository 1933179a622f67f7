package journal

import (
	"context"
	"database/sql"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/record"
)

// Miss keeps what is missing, in the place of what was.
func (j *Journal) Miss(ctx context.Context, all []ledger.Missing) error {
	err := j.alone(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM rmq_missing"); err != nil {
			return err
		}
		for _, m := range all {
			if _, err := tx.ExecContext(ctx, j.dialect.bind("INSERT INTO rmq_missing (topic, slot, messages) VALUES (?, ?, ?)"), m.Topic.ID, m.Slot, m.Messages); err != nil {
				return err
			}
		}
		return nil
	})
	return j.dialect.advise("keep what is missing", err)
}

// Forgotten is what Redis has forgotten, as the last comparison with it has found: see package
// journal/recovery. While nobody compares, nothing is found.
func (j *Journal) Forgotten(ctx context.Context) ([]record.Forgotten, error) {
	m, err := j.Memory(ctx)
	if err != nil {
		return nil, err
	}
	var all []record.Forgotten
	err = j.query(ctx, func(rows *sql.Rows) error {
		var topic string
		var slot, messages int
		if err := rows.Scan(&topic, &slot, &messages); err != nil {
			return err
		}
		if n := len(all); n == 0 || all[n-1].Topic != topic {
			all = append(all, record.Forgotten{Topic: topic, Since: m.Forgot.Since})
		}
		last := &all[len(all)-1]
		last.Slots, last.Messages = append(last.Slots, slot), last.Messages+messages
		return nil
	}, "SELECT t.name, m.slot, m.messages FROM rmq_missing m JOIN rmq_topic t ON t.id = m.topic ORDER BY t.id, m.slot")
	return all, j.dialect.advise("forgotten", err)
}
