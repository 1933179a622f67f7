package latelog

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// most is how many lines may wait for a log that is slow.
const most = 1000

// Lines are the lines that one logger, and all that were made of it, have not written yet.
type Lines struct {
	mu      sync.Mutex
	waiting []line
	dropped int           // since the last of those waiting
	writing chan struct{} // closed when all is written; nil: nothing is being written
}

// line is one call of a logger.
type line struct {
	core   zapcore.Core
	entry  zapcore.Entry
	fields []zapcore.Field
}

// Beside returns a logger that writes the same as the given one, and never waits for
// it.
func Beside(log *zap.Logger) (*zap.Logger, *Lines) {
	lines := &Lines{}
	return log.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core {
		return core{core: c, lines: lines}
	})), lines
}

// Flush returns when all lines are written, or when ctx ends.
func (l *Lines) Flush(ctx context.Context) {
	l.mu.Lock()
	writing := l.writing
	l.mu.Unlock()
	if writing == nil {
		return
	}
	select {
	case <-writing:
	case <-ctx.Done():
	}
}

// add never waits for the log.
func (l *Lines) add(x line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == most {
		l.dropped++
		return
	}
	l.waiting = append(l.waiting, x)
	if l.writing == nil {
		l.writing = make(chan struct{})
		go l.write()
	}
}

// write writes until nothing waits.
func (l *Lines) write() {
	for {
		l.mu.Lock()
		lines, dropped := l.waiting, l.dropped
		l.waiting, l.dropped = nil, 0
		if len(lines) == 0 {
			close(l.writing)
			l.writing = nil
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		for _, x := range lines {
			x.write()
		}
		if dropped > 0 { // they came after these, while the log was slow
			line{core: lines[0].core, entry: zapcore.Entry{
				Level: zapcore.WarnLevel, Time: time.Now(), Message: "the log is slow, and lines were dropped",
			}, fields: []zapcore.Field{zap.Int("lines", dropped)}}.write()
		}
	}
}

// write lets the logger's core decide once more, since it may be one that samples.
func (x line) write() {
	if ce := x.core.Check(x.entry, nil); ce != nil {
		ce.Entry = x.entry                          // with its caller and stack, which Check does not get
		ce.ErrorOutput = zapcore.AddSync(os.Stderr) // as loggers have it
		ce.Write(x.fields...)
	}
}

// core hands everything to lines.
type core struct {
	core  zapcore.Core
	with  []zapcore.Field
	lines *Lines
}

func (c core) Enabled(level zapcore.Level) bool { return c.core.Enabled(level) }

func (c core) With(fields []zapcore.Field) zapcore.Core {
	c.with = slices.Concat(c.with, fields)
	return c
}

func (c core) Check(entry zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return ce.AddCore(entry, c)
	}
	return ce
}

func (c core) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	c.lines.add(line{c.core, entry, slices.Concat(c.with, fields)})
	return nil
}

// Sync does nothing: the owner of the given logger syncs it.
func (c core) Sync() error { return nil }
