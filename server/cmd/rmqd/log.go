package main

import (
	"errors"
	"flag"
	"io"
	"log"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logFlag is how a service writes its log.
type logFlag string

func addLogFlag(flags *flag.FlagSet) *logFlag {
	l := logFlag("text")
	flags.Var(&l, "log", "`form` of the log on stderr: text or json")
	return &l
}

func (l *logFlag) String() string { return string(*l) }

func (l *logFlag) Set(text string) error {
	if text != "text" && text != "json" {
		return errors.New("not text or json")
	}
	*l = logFlag(text)
	return nil
}

// logger writes to stderr.
func (l *logFlag) logger(to io.Writer) *zap.Logger {
	cfg := zap.NewProductionEncoderConfig()
	cfg.TimeKey, cfg.EncodeTime = "time", zapcore.RFC3339TimeEncoder
	encoder := zapcore.NewJSONEncoder(cfg)
	if *l == "text" {
		cfg.EncodeLevel = zapcore.CapitalLevelEncoder
		cfg.ConsoleSeparator = " "
		encoder = zapcore.NewConsoleEncoder(cfg)
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(to)), zap.InfoLevel))
}

// logOf is a log for net/http.
func logOf(to *zap.Logger) *log.Logger { return log.New(lines{to}, "", 0) }

// lines are those of the log of net/http.
type lines struct{ log *zap.Logger }

func (l lines) Write(text []byte) (int, error) {
	l.log.Warn("http", zap.ByteString("says", text))
	return len(text), nil
}
