// Package logs decides where lines of the log go: to zap, to slog, or by default to
// slog.Default. All of RMQ writes by zap; what goes to slog passes through a core here. And it
// takes contents of messages out of texts.
//
// It does not know what the lines say.
package logs
