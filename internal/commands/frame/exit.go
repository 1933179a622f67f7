package frame

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/rights"
	"github.com/slotmq/go-rmq/internal/servers/silence"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
)

// Interrupted is the exit code after a signal, as shells have it.
const Interrupted = 130

// Error ends a command with an exit code.
type Error struct {
	Err  error
	Code int
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Failed is an error that needs no further explanation.
func Failed(format string, args ...any) error { return &Error{fmt.Errorf(format, args...), 1} }

// Misused is one about how the program was called.
func Misused(format string, args ...any) error { return &Error{fmt.Errorf(format, args...), 2} }

// otherFields are those that the limits of others speak of.
var otherFields = regexp.MustCompile(`\b(Cron|Delay|Period|Repeat|From|Range|Extend|Topic\.Notes)\b`)

// ByFlag names the flag where an error names the field of a message that the flag is for.
func ByFlag(err error) error {
	var invalid *message.InvalidError
	flags := map[string]string{
		"Priority": "--priority", "Range": "--range", "Extend": "--extend", "Ceiling": "--ceiling", "Unique": "--unique", "TTL": "--ttl", "Headers": "--header", "At": "--at", "In": "--in", "SlotBasis": "--basis",
		"Cron": "--cron", "Zone": "--zone", "Delay": "--delay", "Period": "--period", "Repeat": "--repeat",
		"From": "--from", "Until": "--until", "Name": "NAME", "Topic.Notes": "--notes", "Topics": "TOPIC",
	}
	if errors.As(err, &invalid) && flags[invalid.Field] != "" {
		limit := otherFields.ReplaceAllStringFunc(invalid.Limit, func(field string) string { return flags[field] })
		return &message.InvalidError{Field: flags[invalid.Field], Value: invalid.Value, Limit: limit}
	}
	return err
}

// Explain says what failed and what to do, in one line, and what the exit code is.
func (c *Call) Explain(err error) (line string, code int) {
	code = 1
	var ended *Error
	var invalid *message.InvalidError
	switch {
	case errors.As(err, &ended):
		code = ended.Code
	case errors.As(err, &invalid):
		code = 2
	case errors.Is(err, context.Canceled): // by a signal
		code, err = Interrupted, fmt.Errorf("interrupted: %w", err)
	default:
		err = c.advise(err)
	}
	return words.OneLine(err.Error()), code
}

// advise says what to do about what Redis or the network says.
func (c *Call) advise(err error) error {
	const where = "--redis or RMQ_REDIS"
	var silent *silence.Error
	var reply redis.Error
	switch {
	case redis.HasErrorPrefix(err, "WRONGPASS"):
		return fmt.Errorf("Redis does not know user %s with this password, or the user is off; mend user:password in %s: %w", rights.User(c.rdb), where, err)
	case redis.HasErrorPrefix(err, "NOAUTH"), redis.HasErrorPrefix(err, "Protocol error: unauthenticated"):
		return fmt.Errorf("Redis asks for a password; write redis://user:password@host:6379 in %s: %w", where, err)
	case strings.Contains(err.Error(), "journal: "), strings.Contains(err.Error(), "grant Redis user"): // it has been said
		return err
	case redis.HasErrorPrefix(err, "MOVED"), redis.HasErrorPrefix(err, "ASK"), redis.HasErrorPrefix(err, "CROSSSLOT"):
		return fmt.Errorf("this Redis is part of a Cluster; begin with redis-cluster:// in %s: %w", where, err)
	case strings.Contains(err.Error(), "cluster support disabled"):
		return fmt.Errorf("this Redis is no Cluster; begin with redis:// in %s: %w", where, err)
	case redis.HasErrorPrefix(err, "READONLY"):
		return fmt.Errorf("this Redis is a replica; name its master in %s: %w", where, err)
	case errors.As(err, &reply): // it does answer
		return rights.Explain(err, rights.User(c.rdb))
	case errors.As(err, &silent):
		return fmt.Errorf("%w; is it running? %s says where, rediss:// is with TLS", silent, where)
	}
	// Not any net.Error: what the system says about a file is one, too.
	var op *net.OpError
	var network net.Error
	if errors.As(err, &op) || errors.As(err, &network) && network.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w; is Redis running? %s doctor looks at it", err, c.Name)
	}
	return err
}
