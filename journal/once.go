package journal

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/message"
)

// Delivered is a delivery of a message: an rmq.Delivery.
type Delivered interface {
	Copy() (record.Copy, bool)
}

// Once makes what your handler changes in the journal's database happen once for each message, though
// the message may be delivered again. It is called in the transaction in which you do that:
//
//	tx, err := db.BeginTx(ctx, nil)
//	if err != nil {
//		return err
//	}
//	defer tx.Rollback()
//	if done, err := j.Once(ctx, tx, d); done || err != nil {
//		return err
//	}
//	... // what the message is about
//	return tx.Commit()
//
// If done is true, a transaction that was for this very copy of the message has committed before: return nil.
// A copy is what merged while it waited; a send behind its take makes another one, which is handled
// for itself. It is also true for a retry whose content was sent again meanwhile: the new copy does the
// work, as RMQ drops such a retry where it finds it. The error is [ErrOvertaken] if a later delivery has
// committed.
//
// The topic must have Notes. Of a message that only a plan has sent, that was requeued, or whose note
// Redis has lost it is not known when it was sent: there Once only stops a second effect within one batch, and
// a retry behind a crash may have a second one. So may a message that is delivered again after
// the Retention, or that a restore has brought back.
//
// One row of rmq_once for each content remembers the Fence. Two statements and one more to change it; two
// transactions about one content wait for each other.
func (j *Journal) Once(ctx context.Context, tx *sql.Tx, d Delivered) (done bool, err error) {
	c, ok := d.Copy()
	if !ok {
		return false, fmt.Errorf("once: %w", &message.InvalidError{
			Field: "Topic.Notes", Value: "false", Limit: "true, so that it is known when a message was sent: define another topic, for a topic never changes",
		})
	}
	if tx == nil {
		return false, fmt.Errorf("once in topic %s: %w", c.Topic.Name, &message.InvalidError{Field: "tx", Value: "nil", Limit: "a transaction of the journal's database"})
	}
	fence, err := j.effect(ctx, tx, c)
	if err != nil {
		return false, j.dialect.advise("once", err)
	}
	switch {
	case hadEffect(c, fence):
		return true, nil
	case fence > c.Fence:
		return false, fmt.Errorf("once in topic %s: %w", c.Topic.Name, ErrOvertaken)
	}
	_, err = tx.ExecContext(ctx, j.dialect.bind("UPDATE rmq_once SET fence = ?, at = ? WHERE topic = ? AND slot = ? AND hash = ?"),
		append([]any{c.Fence, time.Now().UnixMilli()}, onceKey(c)...)...)
	return false, j.dialect.advise("once", err)
}

// hadEffect reports whether the effect of a batch was that of this copy, or will be that of a newer one.
func hadEffect(c record.Copy, fence int64) bool {
	switch {
	case c.Sends == record.SendsKnown:
		return fence > c.Number // the batch was taken behind its last send
	case c.Sends == record.SendsNewer && c.Attempt > 1:
		return true
	}
	return fence == c.Fence
}

// effect is the fence of the newest effect of a content, 0 without any. The row is locked from then on: first
// it is made, for what is not there cannot be locked.
func (j *Journal) effect(ctx context.Context, tx *sql.Tx, c record.Copy) (fence int64, err error) {
	key := onceKey(c)
	_, err = tx.ExecContext(ctx, j.dialect.bind("INSERT INTO rmq_once (topic, slot, hash, fence, at) VALUES (?, ?, ?, 0, ?)"+j.dialect.once), append(key, time.Now().UnixMilli())...)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, j.dialect.bind("SELECT fence FROM rmq_once WHERE topic = ? AND slot = ? AND hash = ?"+j.dialect.locking), key...).Scan(&fence)
	return fence, err
}

func onceKey(c record.Copy) []any {
	hash := ledger.HashOf(c.Content)
	return []any{c.Topic.Name, c.Slot, hash[:]}
}

// oldEffects deletes what Once remembers of old effects.
func (c *compaction) oldEffects(ctx context.Context) error {
	for {
		began := time.Now()
		var keys [][]any
		err := c.query(ctx, func(rows *sql.Rows) error {
			var topic string
			var slot int
			var hash []byte
			err := rows.Scan(&topic, &slot, &hash)
			keys = append(keys, []any{topic, slot, hash, c.before})
			return err
		}, "SELECT topic, slot, hash FROM rmq_once WHERE at < ? ORDER BY at LIMIT "+itoa(pageContents), c.before)
		if err != nil || len(keys) == 0 {
			return err
		}
		gone, err := c.forgetEffects(ctx, keys)
		if err != nil || gone == 0 { // others delete them, too
			return err
		}
		c.done.Once += gone
		if err := c.pace(time.Since(began)); err != nil {
			return err
		}
	}
}

func (c *compaction) forgetEffects(ctx context.Context, keys [][]any) (gone int64, err error) {
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	for _, key := range keys {
		// It may have become young since.
		result, err := tx.ExecContext(ctx, c.dialect.bind("DELETE FROM rmq_once WHERE topic = ? AND slot = ? AND hash = ? AND at < ?"), key...)
		if err != nil {
			return 0, err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return 0, err
		}
		gone += n
	}
	return gone, tx.Commit()
}
