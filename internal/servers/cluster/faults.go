package cluster

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// What an error of a command says. A server's reply begins with a word for the reason.

// fault is what the replies that begin with a prefix have in common.
type fault struct {
	notReady bool // the server is there, and cannot answer questions now
	moved    bool // another server may hold the key by now
	passes   bool // the same command may succeed a moment later
}

var faults = map[string]fault{
	"LOADING ":                  {notReady: true, passes: true},
	"MASTERDOWN ":               {notReady: true, passes: true, moved: true},
	"CLUSTERDOWN ":              {notReady: true, passes: true, moved: true},
	"BUSY ":                     {notReady: true}, // with a script
	"ERR max number of clients": {notReady: true, passes: true},
	"READONLY ":                 {passes: true, moved: true},
	"TRYAGAIN ":                 {passes: true},
	"MOVED ":                    {passes: true, moved: true},
	"ASK ":                      {passes: true, moved: true},
}

// faultOf returns what a server's reply says, and whether err is a reply at all.
func faultOf(err error) (f fault, reply bool) {
	var r redis.Error
	if !errors.As(err, &r) {
		return fault{}, false
	}
	for prefix, f := range faults {
		if strings.HasPrefix(r.Error(), prefix) {
			return f, true
		}
	}
	return fault{}, true
}

// Moved reports whether a server has answered that another one has the key.
func Moved(err error) bool {
	_, moved := redis.IsMovedError(err)
	_, asked := redis.IsAskError(err)
	return moved || asked
}

// NotReady reports whether a server has answered that it cannot answer yet: it loads its
// snapshot, for example.
func NotReady(err error) bool {
	f, _ := faultOf(err)
	return f.notReady
}

// Unanswered reports whether err says that there is no answer, be it because a
// server is gone or because it is not ready for questions.
func Unanswered(err error) bool {
	if f, reply := faultOf(err); reply {
		return f.notReady
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, redis.ErrPoolTimeout)
}

// Refused reports whether err proves that Redis did not execute the command:
// it said so, or was never reached.
func Refused(err error) bool {
	_, reply := faultOf(err)
	var op *net.OpError
	return reply || errors.As(err, &op) && op.Op == "dial" ||
		errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) || errors.Is(err, redis.ErrClosed)
}

// Passes reports whether the same command may succeed a moment later: a connection
// broke, or a server is loading or failing over.
func Passes(err error) bool {
	if f, reply := faultOf(err); reply {
		return f.passes
	}
	return !errors.Is(err, redis.ErrClosed)
}
