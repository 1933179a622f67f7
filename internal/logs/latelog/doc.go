// Package latelog writes the lines of a logger on a goroutine of its own, so that
// a log which blocks (a full pipe, a disk that hangs) does not hold up its callers:
// not a timer that must cancel a handler, and not a worker that closes.
//
//	logger, lines := latelog.Beside(logger)
//	defer lines.Flush(ctx)
//
// Lines keep their order and their time. A thousand of them may wait. Further ones are
// dropped, and the log says how many.
//
// It has no levels, fields or formats of its own; those are the logger's.
//
// # No worker waits for the log
//
// A log can block: a full pipe, a disk that hangs. If the timer of a batch wrote to it, a blocked log would keep a
// handler from being cancelled, and another worker would begin beside it. So all lines of a worker and of its sessions
// go through internal/logs/latelog, and a goroutine of their own writes them. Close waits half a second for lines that are
// not written yet.
package latelog
