package logs

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"go.uber.org/zap/zapcore"
)

// core writes to slog.
type core struct {
	to    func() slog.Handler // at the time of a line
	least zapcore.Level
	with  []zapcore.Field
}

func (c core) Enabled(level zapcore.Level) bool {
	return level >= c.least && c.to().Enabled(context.Background(), levelOf(level))
}

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
	var pc uintptr
	if entry.Caller.Defined {
		pc = entry.Caller.PC + 1 // slog wants where the call returns to, zap has the call
	}
	r := slog.NewRecord(entry.Time, levelOf(entry.Level), entry.Message, pc)
	if entry.LoggerName != "" {
		r.AddAttrs(slog.String("logger", entry.LoggerName))
	}
	r.AddAttrs(attrs(slices.Concat(c.with, fields))...)
	if entry.Stack != "" {
		r.AddAttrs(slog.String("stack", entry.Stack))
	}
	return c.to().Handle(context.Background(), r)
}

func (c core) Sync() error { return nil }

// levelOf is the level of slog with the same meaning.
func levelOf(level zapcore.Level) slog.Level {
	switch {
	case level < zapcore.InfoLevel:
		return slog.LevelDebug
	case level == zapcore.InfoLevel:
		return slog.LevelInfo
	case level == zapcore.WarnLevel:
		return slog.LevelWarn
	}
	return slog.LevelError
}

// attrs are the same as some fields. A namespace is a group with all that follow it.
func attrs(fields []zapcore.Field) (all []slog.Attr) {
	for i, f := range fields {
		switch f.Type {
		case zapcore.NamespaceType:
			return append(all, slog.Attr{Key: f.Key, Value: slog.GroupValue(attrs(fields[i+1:])...)})
		case zapcore.ErrorType: // as it is, so that a handler may look into it
			all = append(all, slog.Any(f.Key, f.Interface))
		default: // the encoder keeps numbers, times and durations as they are
			values := zapcore.NewMapObjectEncoder()
			f.AddTo(values)
			for _, key := range slices.Sorted(maps.Keys(values.Fields)) {
				all = append(all, slog.Any(key, values.Fields[key]))
			}
		}
	}
	return all
}
