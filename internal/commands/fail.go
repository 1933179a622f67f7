package commands

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/rights"
	"github.com/slotmq/go-rmq/internal/silence"
	"github.com/slotmq/go-rmq/internal/words"
	"github.com/slotmq/go-rmq/message"
)

// Every failure is one line: what failed, and what to do about it.

// failure ends a command with an exit code.
type failure struct {
	err  error
	code int
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// failed is an error that needs no further explanation.
func failed(format string, args ...any) error { return &failure{fmt.Errorf(format, args...), 1} }

// misused is one about how rmq was called.
func misused(format string, args ...any) error { return &failure{fmt.Errorf(format, args...), 2} }

// otherFields are those that the limits of others speak of.
var otherFields = regexp.MustCompile(`\b(Cron|Delay|Period|Repeat|From|Range|Extend|Topic\.Notes)\b`)

// byFlag names the flag where an error names the field of a message that the flag is for.
func byFlag(err error) error {
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

// explain says what failed and what to do, in one line, and what the exit code is.
func (a *app) explain(err error) (line string, code int) {
	code = 1
	var f *failure
	var invalid *message.InvalidError
	switch {
	case errors.As(err, &f):
		code = f.code
	case errors.As(err, &invalid):
		code = 2
	case errors.Is(err, context.Canceled): // by a signal
		code, err = interrupted, a.advise(err)
	default:
		err = a.advise(err)
	}
	return words.OneLine(err.Error()), code
}

// advise says what to do about what Redis or the network says.
func (a *app) advise(err error) error {
	const where = "--redis or RMQ_REDIS"
	var silent *silence.Error
	var reply redis.Error
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("interrupted: %w", err)
	case redis.HasErrorPrefix(err, "WRONGPASS"):
		return fmt.Errorf("Redis does not know user %s with this password, or the user is off; mend user:password in %s: %w", rights.User(a.rdb), where, err)
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
		return rights.Explain(err, rights.User(a.rdb))
	case errors.As(err, &silent):
		return fmt.Errorf("%w; is it running? %s says where, rediss:// is with TLS", silent, where)
	}
	// Not any net.Error: what the system says about a file is one, too.
	var op *net.OpError
	var network net.Error
	if errors.As(err, &op) || errors.As(err, &network) && network.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w; is Redis running? %s doctor looks at it", err, a.Name)
	}
	return err
}
