package logs

import (
	"log/slog"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/slotmq/go-rmq/message"
)

// Check refuses a Config that names two logs.
func Check(byZap *zap.Logger, bySlog *slog.Logger) error {
	if byZap == nil || bySlog == nil {
		return nil
	}
	return &message.InvalidError{Field: "Config.Slog", Value: "given beside Config.Logger", Limit: "the only one of the two, or nil"}
}

// Choose returns the log of a Config. With none, warnings and errors go to slog.Default,
// also after a later slog.SetDefault.
func Choose(byZap *zap.Logger, bySlog *slog.Logger) *zap.Logger {
	switch {
	case byZap != nil:
		return byZap
	case bySlog != nil:
		return zap.New(core{to: bySlog.Handler, least: zapcore.DebugLevel}, zap.AddCaller())
	}
	return zap.New(core{to: func() slog.Handler { return slog.Default().Handler() }, least: zapcore.WarnLevel}, zap.AddCaller())
}
