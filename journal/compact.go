package journal

import (
	"context"
	"strings"
	"time"
)

// Compacted is what Compact has deleted.
type Compacted struct{ Sent, Ended, Gaps, Writers int64 }

// Compact deletes what was written before a time and is not needed any more to tell what is owed or dead.
// Of the sends of one content that are owed it keeps those that decide. It works in pages, each in one
// transaction, so it may be ended at any time and goes on with the next call.
//
// The time must be further back than any process may hold rows in memory: an end that is deleted does
// not settle a send that is written only then.
func (j *Journal) Compact(ctx context.Context, before time.Time) (Compacted, error) {
	var done Compacted
	err := j.compact(ctx, before.UnixMilli(), &done)
	return done, j.dialect.advise("compact", err)
}

func (j *Journal) compact(ctx context.Context, before int64, done *Compacted) error {
	topics, err := j.topicsKept(ctx)
	if err != nil {
		return err
	}
	for _, t := range topics {
		slots, err := j.slots(ctx, t.id)
		if err != nil {
			return err
		}
		for _, slot := range slots {
			err := j.walk(ctx, t.id, slot, func(page []entry) error {
				var sent, ended []int64
				for i := range page {
					s, e := page[i].needless(before)
					sent, ended = append(sent, s...), append(ended, e...)
				}
				return j.delete(ctx, sent, ended, done)
			})
			if err != nil {
				return err
			}
		}
	}
	return j.compactRest(ctx, before, done)
}

// needless are the ids of old rows without which the verdict is the same, and stays so whatever is
// written later.
func (e *entry) needless(before int64) (sent, ended []int64) {
	v := e.verdict()
	if v.What == Dead {
		return nil, nil // how it was sent is needed to send it again
	}
	decides := e.deciding(v)
	var kept []Sent
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
			needed = needed || end.settles(s)
		}
		if !needed {
			ended = append(ended, end.ID)
		} else if end.What == Dead {
			return sent, nil // what came before or behind may say that it is not dead any more
		}
	}
	return sent, ended
}

// deciding tells which sends are needed because they are owed. One is not, if the one that decides the
// score is settled by no end without it being settled, too.
func (e *entry) deciding(v Verdict) func(Sent) bool {
	open := map[int64]bool{}
	for _, id := range v.Open {
		open[id] = true
	}
	var last Sent
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
	return func(s Sent) bool {
		return open[s.ID] && (s.ID == last.ID || !plain || s.Number > last.Number || s.ID > last.ID)
	}
}

func (j *Journal) delete(ctx context.Context, sent, ended []int64, done *Compacted) error {
	if len(sent)+len(ended) == 0 {
		return nil
	}
	tx, err := j.db.BeginTx(ctx, nil)
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
			args := make([]any, n)
			for i, id := range ids[:n] {
				args[i] = id
			}
			text := "DELETE FROM " + of.table + " WHERE id IN (?" + strings.Repeat(", ?", n-1) + ")"
			if _, err := tx.ExecContext(ctx, j.dialect.bind(text), args...); err != nil {
				return err
			}
			ids = ids[n:]
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	done.Sent += int64(len(sent))
	done.Ended += int64(len(ended))
	return nil
}

// compactRest deletes ends whose sends are gone, and what there is of processes that ended, or vanished.
func (j *Journal) compactRest(ctx context.Context, before int64, done *Compacted) error {
	for _, d := range []struct {
		text string
		rows *int64
	}{
		{"DELETE FROM rmq_ended WHERE at < ? AND NOT EXISTS (SELECT 1 FROM rmq_sent s WHERE s.topic = rmq_ended.topic AND s.slot = rmq_ended.slot AND s.hash = rmq_ended.hash)", &done.Ended},
		{"DELETE FROM rmq_gap WHERE ends < ?", &done.Gaps},
		{"DELETE FROM rmq_writer WHERE flushed < ?", &done.Writers},
	} {
		result, err := j.db.ExecContext(ctx, j.dialect.bind(d.text), before)
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
