// Package script calls Lua scripts in Redis by their hash. A server that does not know a script
// gets its source, once: after a restart, a failover or SCRIPT FLUSH. That also works in the
// middle of a pipeline, where go-redis does not do it.
//
// It does not know what the scripts do: see packages protocol and protocol/byhand.
//
// # NOSCRIPT in a pipeline
//
// NOSCRIPT in a pipeline. go-redis falls back to the source for single calls only. script.Exec sends exactly those
// commands again that were not known, with their source; repeating the pipeline would send messages twice.
//
// # Turns are not repeated by the client
//
// Turns are not repeated by the client. go-redis repeats a whole pipeline when its first command meets a server that is
// loading or a hash slot that moves. A turn that was executed then returns its batch again, without its priorities.
// script.Once prevents that; the worker repeats the turn anyway, and by itself.
package script

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Script is known to Redis by the hash of its source.
type Script struct {
	hash string
}

// sources are all scripts of the program by their hash. It is written while packages are
// initialized, and only read later.
var sources = map[string]string{}

// New returns the script of a source. It is for variables of packages.
func New(source string) *Script {
	x := &Script{redis.NewScript(source).Hash()}
	sources[x.hash] = source
	return x
}

// Call begins the arguments of a call. Append the keys, then the rest; keys is the number of
// keys, and size the number of both.
func (x *Script) Call(keys, size int) []any {
	return append(make([]any, 0, 3+size), "evalsha", x.hash, keys)
}

// Exec sends the commands in one pipeline (one per server of a Cluster). A script that a
// server does not know is sent again with its source; other commands are not repeated.
// Each command holds its own error; Exec returns none.
func Exec(ctx context.Context, rdb redis.UniversalClient, cmds ...redis.Cmder) {
	ExecOnce(ctx, rdb, cmds...)
	var unknown []redis.Cmder
	for _, cmd := range cmds {
		if Unknown(cmd) {
			unknown = append(unknown, cmd)
		}
	}
	if len(unknown) > 0 {
		ExecOnce(ctx, rdb, unknown...)
	}
}

// ExecOnce is Exec without sending anything again.
func ExecOnce(ctx context.Context, rdb redis.UniversalClient, cmds ...redis.Cmder) {
	switch len(cmds) {
	case 0:
		return
	case 1:
		_ = rdb.Process(ctx, cmds[0])
		return
	}
	pipe := rdb.Pipeline()
	_ = pipe.BatchProcess(ctx, cmds...)
	_, _ = pipe.Exec(ctx)
}

// Unknown reports whether the server did not know the script of a command. If so, the
// command holds the source from now on, and may be sent again.
func Unknown(cmd redis.Cmder) bool {
	err := cmd.Err()
	if err == nil || !strings.HasPrefix(err.Error(), "NOSCRIPT") {
		return false
	}
	args := cmd.Args()
	hash, _ := args[1].(string)
	source, ours := sources[hash]
	if args[0] != "evalsha" || !ours {
		return false
	}
	args[0], args[1] = "eval", source
	cmd.SetErr(nil)
	return true
}

// Once is a command that the Redis client must not repeat by itself. It would repeat all
// others of the pipeline with it, and the answer to a second try is not that to the first.
type Once struct{ *redis.StringSliceCmd }

// NoRetry is what go-redis asks.
func (Once) NoRetry() bool { return true }
