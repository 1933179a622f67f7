package main

import (
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// eventLog writes what the client reports of its life, such as "slots were shared
// out", between the lines of the handler.
func eventLog() (*zap.Logger, error) {
	cfg := zap.NewDevelopmentConfig()
	cfg.Level.SetLevel(zap.InfoLevel)
	cfg.OutputPaths = []string{"stdout"}
	cfg.DisableCaller, cfg.DisableStacktrace = true, true
	cfg.EncoderConfig.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05.000")
	cfg.EncoderConfig.ConsoleSeparator = "  "
	return cfg.Build()
}
