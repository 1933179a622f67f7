package journal

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// compacted is the row of rmq_state that says when somebody last compacted, in ms.
const compacted = "compacted"

// restful is how much longer than a page of a compaction the pause behind it is.
const restful = 4

// forget compacts from time to time, until ctx ends: what is older than the Retention. Of all processes
// with this database one does it.
func (j *Journal) forget(ctx context.Context) {
	every := min(j.cfg.Retention/24, 6*time.Hour)
	next := time.NewTimer(beat)
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
		if err := j.compactInTurn(ctx, every); err != nil && ctx.Err() == nil {
			j.log.Warn("the journal is not compacted", zap.Error(j.dialect.advise("compact", err)))
		}
		next.Reset(every / 4)
	}
}

// compactInTurn compacts, unless another process does it or has done it lately. Behind each page it
// rests, so that it never takes more than a fifth of what a connection can do.
func (j *Journal) compactInTurn(ctx context.Context, every time.Duration) error {
	mine, err := j.claim(ctx, every)
	if err != nil || !mine {
		return err
	}
	c := compaction{Journal: j, before: time.Now().Add(-j.cfg.Retention).UnixMilli()}
	c.pace = func(took time.Duration) error {
		pause := time.NewTimer(min(restful*took, every/4))
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		// Nobody else begins as long as this goes on.
		_, err := j.db.ExecContext(ctx, j.dialect.bind("UPDATE rmq_state SET value = ? WHERE name = '"+compacted+"'"), time.Now().UnixMilli())
		return err
	}
	return c.run(ctx)
}

// claim reports whether it is this process's turn to compact. A time that is far ahead is that of a
// wrong clock.
func (j *Journal) claim(ctx context.Context, every time.Duration) (bool, error) {
	now := time.Now()
	result, err := j.db.ExecContext(ctx, j.dialect.bind("UPDATE rmq_state SET value = ? WHERE name = '"+compacted+"' AND (value < ? OR value > ?)"),
		now.UnixMilli(), now.Add(-every).UnixMilli(), now.Add(every).UnixMilli())
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}
