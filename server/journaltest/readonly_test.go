package journaltest

import (
	"context"
	"errors"
	"testing"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/message"
)

// A journal that is only read makes no tables, gets nothing, and shows what there is.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		db, dialect := p.db(t)
		_, err := journal.OpenReadOnly(ctx, db, dialect)
		oneLine(t, err, "journal: open: "+dialect.String(), "there are none, or older ones")
		if !errors.Is(err, journal.ErrSchema) {
			t.Error(err)
		}
		w := p.open(t, journal.Config{})
		w.Sent(sends(1, "order"), behind)
		closed(t, w)

		j, err := journal.OpenReadOnly(ctx, db, dialect)
		must.Do(t, err)
		if err := j.Ready(); !errors.Is(err, message.ErrClosed) {
			t.Error(err)
		}
		var told error
		j.Sent(sends(1, "other"), func(err error) { told = err })
		j.Observe(end(message.Done, 2, "order"))
		if !errors.Is(told, message.ErrNotJournaled) {
			t.Error(told)
		}
		all, err := j.History(ctx, orders.Name, "order")
		must.Do(t, err)
		if len(all) != 1 || all[0].Verdict.What != ledger.Owed {
			t.Errorf("%+v", all)
		}
		oneLine(t, j.Close(ctx), "1 sends and 1 ends of messages are not in SQL")
		if n := p.number(t, "SELECT COUNT(*) FROM rmq_writer"); n != 1 {
			t.Errorf("%d writers", n)
		}
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := journal.OpenReadOnly(canceled, db, dialect); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := journal.OpenReadOnly(ctx, nil, dialect); err == nil {
			t.Error("opened without a database")
		}
	})
}
