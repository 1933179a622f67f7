package away

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/slotmq/go-rmq/internal/logs/latelog"
)

// Log is where the lines go. It knows which servers were logged as away.
type Log struct {
	*zap.Logger
	lines *latelog.Lines
	after time.Duration // without an answer a server is logged as away; enough, but in tests

	mu      sync.Mutex
	servers map[string]*server   // by address; only those that are looked at, or were logged as away
	forgot  map[string]time.Time // when it was logged that a server has forgotten what it knew
}

// server is one that did not answer.
type server struct {
	looking bool // it is being asked
	logged  bool // as away
}

// Share returns a logger that writes the same. All that get it share what was logged.
func Share(log *zap.Logger) *zap.Logger {
	l := In(log)
	return log.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core { return carrier{c, l} }))
}

// In returns the Log of a logger: the one that is shared, or a new one.
func In(log *zap.Logger) *Log {
	if c, shared := log.Core().(carrier); shared {
		return c.log
	}
	l := &Log{after: enough, servers: map[string]*server{}, forgot: map[string]time.Time{}}
	l.Logger, l.lines = latelog.Beside(log)
	return l
}

// carrier is a core that knows the Log.
type carrier struct {
	zapcore.Core
	log *Log
}

// With keeps the Log, so that all parts of a program still share it.
func (c carrier) With(fields []zapcore.Field) zapcore.Core {
	return carrier{c.Core.With(fields), c.log}
}

// Flush returns when all lines are written, or when ctx ends.
func (l *Log) Flush(ctx context.Context) { l.lines.Flush(ctx) }

// begin reports whether to look at a server: if that is not done already.
func (l *Log) begin(addr string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.servers[addr]
	if s == nil {
		s = &server{}
		l.servers[addr] = s
	}
	if s.looking {
		return false
	}
	s.looking = true
	return true
}

// end notes that the look is over. A server that was logged as away stays so until there is
// an answer.
func (l *Log) end(addr string, answered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.servers[addr]
	s.looking = false
	if answered || !s.logged {
		delete(l.servers, addr)
	}
}

// logged reports whether a server was logged as away.
func (l *Log) logged(addr string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.servers[addr]
	return s != nil && s.logged
}

// note notes that a server is logged as away now, and reports whether it was not before.
func (l *Log) note(addr string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.servers[addr]
	first := !s.logged
	s.logged = true
	return first
}
