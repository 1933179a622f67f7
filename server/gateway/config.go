package gateway

import (
	"cmp"
	"fmt"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/tokens"
	"github.com/slotmq/go-rmq/slots"
)

// Config of a Gateway. The zero value of a field means its default.
type Config struct {
	// Redis is the client to use; it stays yours to close.
	Redis redis.UniversalClient

	// Namespace in front of the topics' names. Defaults to none.
	Namespace string

	// Journal gets what is sent and what becomes of it. Defaults to none.
	Journal *journal.Journal

	// Slots is that of the workers if they share topics by ZooKeeper, to see them. Defaults to none.
	Slots slots.Sharing

	// Tokens say who may do what. Defaults to none: whoever reaches the gateway may do everything.
	Tokens *tokens.File

	// SDMQ serves the calls /push, /delete, /reStore, /reStoreJob, /get and /finish, too. Some of them change something by
	// GET, as programs that know them expect. Defaults to false.
	SDMQ bool

	// MaxBody is the longest body of a request in bytes, or line of a stream. Defaults to 1 MiB.
	MaxBody int

	// MaxContent is the longest content of a message in bytes, as in rmq.Config. Defaults to 256 KiB.
	MaxContent int

	// MaxWaiting is how many requests may wait for messages at a time. Defaults to 1,000.
	MaxWaiting int

	// MaxWaitingPerSlot is how many messages may wait in one slot; a send that would add one more gets 429.
	// Defaults to 0: as many as Redis has memory for.
	MaxWaitingPerSlot int

	// RequestsPerSecond is how many requests a token may make, on average; twice as many at once. Defaults to 0: as
	// many as it likes.
	RequestsPerSecond float64

	// Observers see what happens to the messages that are sent, taken and finished here.
	Observers []message.Observer

	// Logger gets the log. Defaults to none.
	Logger *zap.Logger
}

func (c Config) withDefaults() Config {
	c.MaxBody = cmp.Or(c.MaxBody, 1<<20)
	c.MaxContent = cmp.Or(c.MaxContent, limits.DefaultContentBytes)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, 1000)
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.MaxBody < 1<<10 || c.MaxBody > 1<<30:
		return checked.Invalid("Config.MaxBody", fmt.Sprint(c.MaxBody), "from 1 KiB to 1 GiB, or 0 for 1 MiB")
	case c.MaxWaiting < 1:
		return checked.Invalid("Config.MaxWaiting", fmt.Sprint(c.MaxWaiting), "1 or more, or 0 for 1000")
	case c.MaxWaitingPerSlot < 0:
		return checked.Invalid("Config.MaxWaitingPerSlot", fmt.Sprint(c.MaxWaitingPerSlot), "1 or more, or 0 for any number")
	case !(c.RequestsPerSecond >= 0 && c.RequestsPerSecond <= 1e9):
		return checked.Invalid("Config.RequestsPerSecond", fmt.Sprint(c.RequestsPerSecond), "from 0 to 1e9")
	}
	return nil
}
