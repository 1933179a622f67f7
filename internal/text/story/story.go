package story

import (
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
)

// Line is one thing that is known.
type Line struct{ Label, Text string }

// Style is how lines are written.
type Style struct {
	Moment  func(time.Time) string      // a time of the clock
	Content func(content string) string // one in a sentence
	Requeue string                      // what makes a dead message be delivered again, such as a command
	Hides   bool                        // values of headers, as contents are hidden
}

// Of is what is known of a message in a slot.
func (s Style) Of(e inspector.Explanation) (all []Line) {
	line := func(label, text string) { all = append(all, Line{label, text}) }
	exact := func(t time.Time) string { return " (" + s.Moment(t) + ")" }

	if w := e.Waiting; w != nil {
		switch {
		case w.Priority > 0:
			line("waiting", fmt.Sprintf("with priority %d, %s", w.Priority, before(e.Before, e.Beside)))
		default:
			line("waiting", Until(w.Due, e.Now)+exact(w.Due)+", "+before(e.Before, 0))
		}
	}
	if f := e.Flight; f != nil {
		line("in flight", inFlight(f, e.Now))
		if r := f.Running; r != nil {
			line("handler", s.ran(r, f.Runs, e.Now))
		}
	}
	if e.Retry != nil {
		all = append(all, s.retry(e))
	}
	if d := e.Dead; d != nil {
		line("dead", "died "+humantime.Ago(e.Now.Sub(d.Died))+exact(d.Died)+"; "+s.Requeue+" has it delivered again")
	}
	if p := e.PutBack; p != nil {
		line("put back", putBack(p, e.Now))
	}
	if f := e.Failure; f != nil {
		line("last error", lastError(f, e.Now))
		if f.Attempts > 1 && !f.First.IsZero() {
			line("first failed", humantime.Ago(e.Now.Sub(f.First))+exact(f.First))
		}
	}
	all = append(all, s.note(e.Note, e.Now)...)
	if !e.Unique.IsZero() {
		line("unique", "for "+humantime.Duration(e.Unique.Sub(e.Now))+exact(e.Unique)+": an equal one is a duplicate")
	}
	for n, text := range e.WaitsFor {
		label := "waits for"
		if n > 0 {
			label = "and"
		}
		line(label, words.Legible(text))
	}
	return all
}

// retry is when a message that has failed, or was put back, comes again.
func (s Style) retry(e inspector.Explanation) Line {
	r := e.Retry
	text := OfAll(r.Attempt)
	if r.Due.IsZero() {
		text += ", at once"
	} else {
		text += ", " + Until(r.Due, e.Now) + " (" + s.Moment(r.Due) + ")"
	}
	if e.PutBack == nil || r.Attempt > 1 {
		return Line{"retrying", text}
	}
	text += ", put back by its handler"
	if r.Priority > 0 {
		text += fmt.Sprintf(", with priority %d", r.Priority)
	}
	return Line{"waiting", text}
}

// inFlight is who has the batch of a message.
func inFlight(f *inspector.Flight, now time.Time) string {
	text := fmt.Sprintf("%s, taken %s by %s, in a batch of %d", OfAll(f.Attempt), humantime.Ago(now.Sub(f.Since)), words.Legible(protocol.HolderName(f.Worker)), f.Batch)
	switch over := now.Sub(f.LeaseEnds); {
	case f.LeaseEnds.IsZero():
	case over < time.Millisecond:
		text += ", lease ends " + humantime.In(-over)
	default:
		text += ", lease ended " + humantime.Ago(over)
	}
	return text
}

// ran says what the handler of a batch in flight has run for long: the message that is explained, or another one.
func (s Style) ran(r *inspector.Running, it bool, now time.Time) string {
	ran, timeout := humantime.Duration(now.Sub(r.Since)), humantime.Duration(r.Timeout)
	if now.Sub(r.Since) > r.Timeout {
		ran += ", longer than its Timeout, " + timeout
	}
	switch {
	case it && r.Count > 1:
		return fmt.Sprintf("has run it, and %d more of the batch, for %s", r.Count-1, ran)
	case it:
		return "has run it for " + ran
	case r.Count > 1:
		return fmt.Sprintf("has run %s, and %d more of the batch, for %s", s.Content(r.Content), r.Count-1, ran)
	}
	return fmt.Sprintf("has run another one of the batch, %s, for %s", s.Content(r.Content), ran)
}

func lastError(f *inspector.Failure, now time.Time) string {
	last := words.Legible(f.Reason)
	if f.Reason == "" {
		last = "not known"
	}
	last += fmt.Sprintf(" (attempt %d, %s", f.Attempts, humantime.Ago(now.Sub(f.Last)))
	if f.Worker != "" {
		last += ", by " + words.Legible(protocol.HolderName(f.Worker))
	}
	return last + ")"
}

// putBack says when a handler put a message back, and why.
func putBack(p *inspector.PutBack, now time.Time) string {
	text := humantime.Ago(now.Sub(p.Last))
	if p.First.Before(p.Last) {
		text += ", first " + humantime.Ago(now.Sub(p.First))
	}
	if p.Worker != "" && p.Worker != "-" {
		text += ", by " + words.Legible(protocol.HolderName(p.Worker))
	}
	return text + "; no delivery is spent: " + words.Legible(p.Reason)
}

// before says how many go before a message for certain, and how many more may.
func before(n, beside int) string {
	text := fmt.Sprintf("%d go before it", n)
	switch {
	case n == 0 && beside > 0:
		return fmt.Sprintf("%d with the same priority may go before it", beside)
	case n == 0:
		return "none goes before it"
	case n == 1:
		text = "1 goes before it"
	}
	if beside > 0 {
		text += fmt.Sprintf(", and %d with the same priority may", beside)
	}
	return text
}

// Until says when a message is due, or for how long it has been.
func Until(t, now time.Time) string {
	if d := now.Sub(t); d >= time.Millisecond {
		return "due for " + humantime.Duration(d)
	}
	return "due " + humantime.In(t.Sub(now))
}

// OfAll says which of all deliveries one is.
func OfAll(attempt int) string { return fmt.Sprintf("attempt %d of %d", attempt, message.MaxRetries+1) }
