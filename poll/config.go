package poll

import (
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/logs"
	"github.com/slotmq/go-rmq/internal/observers"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// Config of a Poller. The zero value of a field means its default.
type Config struct {
	// Redis is the client to use; it stays yours to close.
	Redis redis.UniversalClient

	// Namespace in front of the topics' names. Defaults to none.
	Namespace string

	// Worker is the name under which people see who has a batch. Defaults to host name and process id.
	Worker string

	// Backoff says how long a failed message waits for its next delivery, where Failed does not.
	// Defaults to Exponential(1s, 30m).
	Backoff consumer.Backoff

	// Expired says what becomes of messages whose time to live is over before they are taken.
	// Defaults to ExpiredDead.
	Expired consumer.Expired

	// SafetyLook is how often the slots of a topic are looked at while somebody waits for it, in case a
	// wake-up got lost. Defaults to 30s.
	SafetyLook time.Duration

	// Observers see what happens to the messages that are taken here, and finished here.
	Observers []message.Observer

	// Journal is told the same: it is that of package journal. Defaults to none.
	Journal record.Journal

	// Logger gets the log; or Slog. Defaults to slog.Default, for warnings and errors.
	Logger *zap.Logger
	Slog   *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Worker == "" {
		c.Worker = checked.WorkerName("taker")
	}
	if c.Backoff == nil {
		c.Backoff = verdict.Exponential(time.Second, 30*time.Minute)
	}
	if c.SafetyLook == 0 {
		c.SafetyLook = 30 * time.Second
	}
	return c
}

func (c Config) validate() error {
	if err := checked.Client("Config.Redis", c.Redis); err != nil {
		return err
	}
	if err := checked.Namespace(c.Namespace); err != nil {
		return err
	}
	if err := logs.Check(c.Logger, c.Slog); err != nil {
		return err
	}
	if err := observers.Valid(c.Observers); err != nil {
		return err
	}
	if err := checked.Worker("Config.Worker", c.Worker); err != nil {
		return err
	}
	switch {
	case c.Expired > consumer.ExpiredDrop:
		return checked.Invalid("Config.Expired", c.Expired.String(), "ExpiredDead or ExpiredDrop")
	case c.SafetyLook < 10*time.Millisecond:
		return checked.Invalid("Config.SafetyLook", c.SafetyLook.String(), "10ms or more, or 0 for 30s")
	}
	return nil
}
