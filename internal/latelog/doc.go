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
package latelog
