package recovery

import (
	"context"
	"errors"
	"sync"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/message"
)

// marks are rows on their way into the journal. Pages do not wait for each other's commits.
type marks struct {
	group sync.WaitGroup
	rows  int // since the last wait

	mu  sync.Mutex
	err error // the first
}

// mostMarks are under way at the most.
const mostMarks = 10 * pageMost

// write sends rows on their way. It returns an error of earlier ones.
func (m *marks) write(ctx context.Context, j *journal.Journal, t ledger.Topic, slot int, rows []ledger.Mark) error {
	if m.rows += len(rows); m.rows > mostMarks {
		if err := m.wait(); err != nil {
			return err
		}
		m.rows = len(rows)
	}
	m.group.Go(func() {
		err := j.Mark(ctx, t, slot, rows...)
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.err == nil && !errors.Is(err, message.ErrNotJournaled) { // that is written later, or Close says that it is not
			m.err = err
		}
	})
	return nil
}

// wait returns when all are committed, with the first error, and forgets it.
func (m *marks) wait() error {
	m.group.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.err
	m.err = nil
	return err
}
