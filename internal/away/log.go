package away

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/slotmq/go-rmq/internal/latelog"
)

// Log is where it is said, and what was said there.
type Log struct {
	*zap.Logger
	lines *latelog.Lines
	after time.Duration // without an answer a server is said to be away; enough, but in tests

	mu      sync.Mutex
	servers map[string]*server // by address; only those that are looked at, or were said to be away
}

// server is one that did not answer.
type server struct {
	looking bool // it is being asked
	said    bool // that it is away
}

// Share returns a logger that writes the same. All who are given it share what was said.
func Share(log *zap.Logger) *zap.Logger {
	l := In(log)
	return log.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core { return carrier{c, l} }))
}

// In returns the Log of a logger: the one that is shared, or a new one.
func In(log *zap.Logger) *Log {
	if c, shared := log.Core().(carrier); shared {
		return c.log
	}
	l := &Log{after: enough, servers: map[string]*server{}}
	l.Logger, l.lines = latelog.Beside(log)
	return l
}

// carrier is a core that knows the Log.
type carrier struct {
	zapcore.Core
	log *Log
}

// Flush returns when all that was said is written, or when ctx ends.
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

// end notes that the look is over, with an answer or without. What was said is kept until
// there is one.
func (l *Log) end(addr string, answered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.servers[addr]
	s.looking = false
	if answered || !s.said {
		delete(l.servers, addr)
	}
}

// said reports whether a server was said to be away.
func (l *Log) said(addr string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.servers[addr]
	return s != nil && s.said
}

// say notes that it is said now, and reports whether it was not before.
func (l *Log) say(addr string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.servers[addr]
	first := !s.said
	s.said = true
	return first
}
