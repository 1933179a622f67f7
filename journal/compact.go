package journal

import (
	"context"
	"database/sql"
	"time"

	"github.com/slotmq/go-rmq/internal/ledger"
)

// Compact deletes what was written before a time and is not needed any more to tell what is owed or dead.
// Of the sends of one content that are owed it keeps those that decide. It works in pages, each in one
// transaction, so it may be ended at any time and goes on with the next call.
//
// The time must be further back than any process may hold rows in memory: an end that is deleted does
// not settle a send that is written only then.
func (j *Journal) Compact(ctx context.Context, before time.Time) (ledger.Compacted, error) {
	c := compaction{Journal: j, before: before.UnixMilli(), pace: func(time.Duration) error { return nil }}
	err := c.run(ctx)
	return c.done, j.dialect.advise("compact", err)
}

// compaction is one pass over all rows. pace is called behind each page with the time that it took.
type compaction struct {
	*Journal
	before int64 // ms
	done   ledger.Compacted
	pace   func(took time.Duration) error
}

func (c *compaction) run(ctx context.Context) error {
	topics, err := c.topicsKept(ctx)
	if err != nil {
		return err
	}
	for _, t := range topics {
		slots, err := c.slots(ctx, t.id)
		if err != nil {
			return err
		}
		for _, slot := range slots {
			began := time.Now()
			err := c.walk(ctx, t.id, slot, func(page []entry) error {
				var sent, ended []int64
				for i := range page {
					s, e := page[i].needless(c.before)
					sent, ended = append(sent, s...), append(ended, e...)
				}
				if err := c.delete(ctx, sent, ended); err != nil {
					return err
				}
				err := c.pace(time.Since(began))
				began = time.Now()
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	if err := c.endsAlone(ctx); err != nil {
		return err
	}
	if err := c.oldEffects(ctx); err != nil {
		return err
	}
	return c.processes(ctx)
}

// needless are the ids of old rows without which the verdict is the same, and stays so whatever is
// written later.
func (e *entry) needless(before int64) (sent, ended []int64) {
	v := e.verdict()
	if v.What == ledger.Dead {
		return nil, nil // how it was sent is needed to send it again
	}
	decides := e.deciding(v)
	var kept []ledger.Sent
	for _, s := range e.sent {
		if s.At < before && !decides(s) {
			sent = append(sent, s.ID)
		} else {
			kept = append(kept, s)
		}
	}
	for _, end := range e.ended {
		needed := end.At >= before
		for _, s := range kept {
			needed = needed || end.Settles(s)
		}
		if !needed {
			ended = append(ended, end.ID)
		} else if end.What == ledger.Dead {
			return sent, nil // what came before or behind may say that it is not dead any more
		}
	}
	return sent, ended
}

// deciding tells which sends are needed because they are owed. One is not, if the one that decides the
// score is settled by no end without it being settled, too.
func (e *entry) deciding(v ledger.Verdict) func(ledger.Sent) bool {
	open := map[int64]bool{}
	for _, id := range v.Open {
		open[id] = true
	}
	var last ledger.Sent
	plain := true // none has a note, whose parts may come from several sends
	for _, s := range e.sent {
		if !open[s.ID] {
			continue
		}
		if last.ID == 0 || !s.Keeps {
			last = s
		}
		plain = plain && s.Note == ""
	}
	return func(s ledger.Sent) bool {
		return open[s.ID] && (s.ID == last.ID || !plain || s.Number > last.Number || s.ID > last.ID)
	}
}

func (c *compaction) delete(ctx context.Context, sent, ended []int64) error {
	if len(sent)+len(ended) == 0 {
		return nil
	}
	tx, err := c.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, of := range []struct {
		table string
		ids   []int64
	}{{"rmq_sent", sent}, {"rmq_ended", ended}} {
		for ids := of.ids; len(ids) > 0; {
			n := min(len(ids), pageContents)
			text := "DELETE FROM " + of.table + " WHERE id IN (" + marks(n) + ")"
			if _, err := tx.ExecContext(ctx, c.dialect.bind(text), args(ids[:n])...); err != nil {
				return err
			}
			ids = ids[n:]
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	c.done.Sent += int64(len(sent))
	c.done.Ended += int64(len(ended))
	return nil
}

// endsAlone deletes old ends whose sends are gone. They are looked for first, for a DELETE that looks
// keeps others from writing meanwhile.
func (c *compaction) endsAlone(ctx context.Context) error {
	for after := int64(0); ; {
		began := time.Now()
		var ids []int64
		err := c.query(ctx, func(rows *sql.Rows) error {
			ids = append(ids, 0)
			return rows.Scan(&ids[len(ids)-1])
		}, `SELECT id FROM rmq_ended e WHERE id > ? AND at < ? AND NOT EXISTS (SELECT 1 FROM rmq_sent s WHERE s.topic = e.topic AND s.slot = e.slot AND s.hash = e.hash)
			ORDER BY id LIMIT `+itoa(pageContents), after, c.before)
		if err != nil || len(ids) == 0 {
			return err
		}
		if err := c.delete(ctx, nil, ids); err != nil {
			return err
		}
		after = ids[len(ids)-1]
		if err := c.pace(time.Since(began)); err != nil {
			return err
		}
	}
}

// processes deletes what there is of processes that ended, or vanished.
func (c *compaction) processes(ctx context.Context) error {
	for _, d := range []struct {
		text string
		rows *int64
	}{
		{"DELETE FROM rmq_gap WHERE ends < ?", &c.done.Gaps},
		{"DELETE FROM rmq_writer WHERE flushed < ?", &c.done.Writers},
	} {
		result, err := c.db.ExecContext(ctx, c.dialect.bind(d.text), c.before)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return err
		}
		*d.rows += n
	}
	return nil
}
