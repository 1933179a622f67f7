package recovery

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/luascripts"
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
}

// Recovery compares a journal with Redis. Any number of goroutines may use it. It has nothing to
// close.
type Recovery struct {
	journal   *journal.Journal
	rdb       redis.UniversalClient
	scripts   *luascripts.Scripts
	namespace string
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
	if err != nil {
		return nil, fmt.Errorf("new recovery: %w", err)
	}
	return &Recovery{cfg.Journal, cfg.Redis, luascripts.New(cfg.Redis), cfg.Namespace}, nil
}
