package recovery

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/logs"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/journal"
)

// Config of a Recovery.
type Config struct {
	// Journal that knows what is owed. Required. It stays the caller's.
	Journal *journal.Journal

	// Redis of the messages. Required. It stays the caller's.
	Redis redis.UniversalClient

	// Namespace of the topics, as in rmq.Config. Then names are without it, and other
	// topics are left alone. Defaults to none: all topics, by their whole names.
	Namespace string

	// Logger and Slog get what [Recovery.Run] finds. Defaults to slog.Default() for warnings and errors.
	Logger *zap.Logger
	Slog   *slog.Logger
}

// Recovery compares a journal with Redis. Any number of goroutines may use it. It has nothing to
// close.
type Recovery struct {
	journal   *journal.Journal
	rdb       redis.UniversalClient
	scripts   *protocol.Scripts
	namespace string
	log       *zap.Logger
	rounds    sync.Mutex // of ticks: one at a time
}

// New checks its config, and does no I/O.
func New(cfg Config) (*Recovery, error) {
	err := checked.Client("Config.Redis", cfg.Redis)
	if err == nil && cfg.Journal == nil {
		err = checked.Invalid("Config.Journal", "nil", "a journal")
	}
	if err == nil {
		err = checked.Namespace(cfg.Namespace)
	}
	if err == nil {
		err = logs.Check(cfg.Logger, cfg.Slog)
	}
	if err != nil {
		return nil, fmt.Errorf("new recovery: %w", err)
	}
	return &Recovery{
		journal: cfg.Journal, rdb: cfg.Redis, scripts: protocol.New(cfg.Redis), namespace: cfg.Namespace,
		log: logs.Choose(cfg.Logger, cfg.Slog),
	}, nil
}
