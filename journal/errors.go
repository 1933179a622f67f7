package journal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/slotmq/go-rmq/message"
)

var (
	// ErrFull is what sends get with Full: Refuse while the buffer is full. Its text names what
	// keeps the rows from SQL. Nothing is stored.
	ErrFull = errors.New("the journal is full")

	// ErrSchema is returned by Open when the tables are of a newer program.
	ErrSchema = errors.New("the journal's tables")

	// ErrOvertaken is returned by Once when a later delivery of the content has committed: this
	// one must not. Return it, so that your transaction is rolled back.
	ErrOvertaken = errors.New("a later delivery of the content has committed")
)

// notKept says why a send that waited is not in the journal. It is a message.ErrNotJournaled, whose
// text the producer puts in front.
type notKept struct {
	text  string
	cause error // nil if none is known
}

func (e *notKept) Error() string {
	if e.cause == nil {
		return e.text
	}
	return e.text + ": " + e.cause.Error()
}

func (e *notKept) Unwrap() error        { return e.cause }
func (e *notKept) Is(target error) bool { return target == message.ErrNotJournaled }

// late, dropped and unwritten are what a sender is told. j.mu is not held.
func (j *Journal) late() error {
	return &notKept{"not committed within " + j.cfg.WaitAtMost.String(), j.trouble()}
}
func (j *Journal) dropped() error   { return &notKept{"the buffer is full", j.trouble()} }
func (j *Journal) unwritten() error { return &notKept{"the journal was closed before", j.trouble()} }

// trouble is why SQL takes no rows, nil while it does.
func (j *Journal) trouble() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.cause
}

// advise makes one line of what a database said, and adds what to do about it.
func (d Dialect) advise(doing string, err error) error {
	if err == nil {
		return nil
	}
	do := ""
	for _, a := range d.advice {
		if strings.Contains(err.Error(), a.text) {
			do = ": " + a.do
			break
		}
	}
	if timeout := net.Error(nil); do == "" && (errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()) {
		do = ": the database does not answer in time: look whether it is up, and not overloaded"
	}
	return &sqlError{fmt.Sprintf("journal: %s: %s: %s%s", doing, d.name, oneLine(err.Error()), do), err}
}

// sqlError has a text of one line, and the error of the driver behind it.
type sqlError struct {
	text  string
	cause error
}

func (e *sqlError) Error() string { return e.text }
func (e *sqlError) Unwrap() error { return e.cause }

// oneLine makes one line of several. What is said again, as by a driver that has tried twice, is said once.
func oneLine(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}
