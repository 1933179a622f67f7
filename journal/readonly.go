package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/slotmq/go-rmq/message"
)

// OpenReadOnly opens a journal only to read it, for tools: it makes no tables, writes nothing, and needs no
// right but SELECT. What a client tells it is refused.
func OpenReadOnly(ctx context.Context, db *sql.DB, dialect Dialect) (*Journal, error) {
	if db == nil || dialect.name == "" {
		return nil, errors.New("journal: open: it needs a database and one of the dialects")
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, dialect.advise("open", err)
	}
	defer conn.Close()
	switch held, err := dialect.schema(ctx, conn); {
	case err != nil:
		return nil, dialect.advise("open", err)
	case held < schemaVersion:
		return nil, dialect.advise("open", fmt.Errorf("%w: there are none, or older ones: the next program that writes brings them up to date", ErrSchema))
	}
	j := &Journal{db: db, dialect: dialect, next: &batch{}, closing: true, done: make(chan struct{})}
	close(j.done)
	refusal := fmt.Errorf("%w: this journal is only read", message.ErrClosed)
	j.refusal.Store(&refusal)
	j.ctx, j.cancel = context.WithCancel(context.Background())
	return j, nil
}
