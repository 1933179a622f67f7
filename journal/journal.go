package journal

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/logs"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/message"
)

// Journal writes what it is told into a database. It is made by Open.
type Journal struct {
	db      *sql.DB
	dialect Dialect
	cfg     Config
	log     *zap.Logger
	host    string
	began   int64 // ms
	writer  int64 // the id of this process, at random: nobody else has had it, in a transaction that did not count

	refusal atomic.Pointer[error] // what Ready says

	mu      sync.Mutex
	queue   []*batch // full
	next    *batch   // gathers
	free    *batch   // empty, with room; or nil
	seq     int64    // of the newest row
	held    int      // bytes in memory, also of what is being written
	lost    gap      // since the last batch was taken
	cause   error    // why SQL takes nothing; nil while it does
	met     map[string]int
	topics  []topicRow
	closing bool

	some, enough chan struct{} // there are rows; and a transaction full of them
	committing   chan struct{} // something was written into the outbox, by a transaction that is not over yet
	committed    chan struct{} // a transaction of the writer
	stop, done   chan struct{}
	ctx          context.Context // of what the writer does; ends when Close must return
	cancel       context.CancelFunc
	beside       sync.WaitGroup // what runs beside the writer
	endBeside    context.CancelFunc

	// Of the writer alone.
	conn                *session
	ids                 []int64 // of topics
	flushes             int64   // its transactions that counted
	flushed             time.Time
	sentRows, endedRows *insertion
}

var _ record.Journal = (*Journal)(nil)

const (
	openPatience = 2 * time.Minute  // bounds Open
	busyPatience = 15 * time.Second // and in it each wait for others that write into a file
)

// Open makes the tables, or brings older ones up to date, and begins to write. The database stays the
// caller's, who closes it after Close.
func Open(db *sql.DB, dialect Dialect, cfg Config) (*Journal, error) {
	if db == nil || dialect.name == "" {
		return nil, errors.New("journal: open: it needs a database and one of the dialects")
	}
	if n := db.Stats().MaxOpenConnections; n == 1 {
		return nil, &message.InvalidError{Field: "MaxOpenConns of the database", Value: "1", Limit: "2 or more: the writer has one for itself"}
	}
	cfg, err := cfg.full()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), openPatience)
	defer cancel()
	for _, step := range []func(context.Context, *sql.DB) error{dialect.migrate, dialect.writable} {
		turn, end := context.WithTimeout(ctx, busyPatience)
		err := dialect.inTurn(turn, func() error { return step(ctx, db) })
		end()
		if err != nil {
			return nil, dialect.advise("open", err)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "" // rows do without
	}
	j := &Journal{
		db: db, dialect: dialect, cfg: cfg, log: logs.Choose(cfg.Logger, cfg.Slog), host: plain(host), began: time.Now().UnixMilli(), writer: 1 + rand.Int64N(1<<53),
		next: &batch{}, met: map[string]int{}, sentRows: newSentRows(), endedRows: newEndedRows(),
		some: make(chan struct{}, 1), enough: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
		committing: make(chan struct{}, 1), committed: make(chan struct{}, 1),
	}
	j.ctx, j.cancel = context.WithCancel(context.Background())
	beside, end := context.WithCancel(j.ctx)
	j.endBeside = end
	go j.run()
	j.beside.Go(func() { j.forget(beside) })
	if dialect.checkpoint != "" {
		j.beside.Go(func() { j.checkpoint(beside) })
	}
	return j, nil
}
