package silence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
)

// Error is that of a request without an answer.
type Error struct {
	Server string        // host:port, without user and password
	Within time.Duration // in which it should have answered; 0: Err says what came
	Err    error
}

func (e *Error) Error() string {
	if e.Within > 0 {
		return fmt.Sprintf("Redis does not answer at %s within %v", e.Server, e.Within)
	}
	return "Redis does not answer at " + e.Server + ": " + cause(e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Explain names the server in an error that says that there is no answer. All others stay as they are: what a server
// says, what a context brings that was cancelled, and a pool without a free connection.
func Explain(rdb redis.UniversalClient, err error) error {
	if !cluster.Unanswered(err) || cluster.NotReady(err) || errors.Is(err, context.Canceled) || errors.Is(err, redis.ErrPoolTimeout) {
		return err
	}
	at := Server(rdb)
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Addr != nil { // of a Cluster's servers it is this one
		at = op.Addr.String()
	}
	return &Error{Server: at, Err: err}
}

// Server names the server or servers of a client.
func Server(rdb redis.UniversalClient) string {
	switch c := rdb.(type) {
	case *redis.Client:
		if cluster.IsSingle(c) {
			return c.Options().Addr
		}
		return "the master that the Sentinels know"
	case *redis.ClusterClient:
		return strings.Join(c.Options().Addrs, ", ")
	}
	return "the servers of its client"
}

// cause is the innermost error of the network, without the address, which the line has.
func cause(err error) string {
	var deepest *net.OpError
	var call *os.SyscallError
	switch {
	case errors.As(err, &call):
		return call.Err.Error()
	case errors.As(err, &deepest):
		return deepest.Err.Error()
	case errors.Is(err, io.EOF):
		return "the connection was closed, as by a restart, or by a proxy that does not know the command"
	}
	return err.Error()
}
