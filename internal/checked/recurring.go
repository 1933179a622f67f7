package checked

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/message"
)

// Recurring checks the name of a recurring message of topic t and what it sends. maxContent bounds
// the content in bytes. For its times see [Series].
func Recurring(t message.Topic, r message.Recurring, maxContent int) error {
	switch n := len(r.Name); {
	case n == 0 || n > limits.NameBytes:
		return Invalid("Name", Quote(r.Name)+" ("+strconv.Itoa(n)+" bytes)", "1 to 200 bytes")
	case !utf8.ValidString(r.Name) || strings.ContainsFunc(r.Name, unicode.IsControl):
		return Invalid("Name", Quote(r.Name), "valid UTF-8 without control characters")
	}
	if n := len(r.Content); n == 0 || n > maxContent {
		return Invalid("Content", strconv.Itoa(n)+" bytes long", "1 to "+strconv.Itoa(maxContent)+" bytes")
	}
	switch {
	case !t.Kind.Timed():
		return Priority(r.Priority)
	case r.Priority != 0:
		return Invalid("Priority", strconv.FormatInt(r.Priority, 10), "0 in a topic of kind "+t.Kind.String()+", which has times")
	}
	return nil
}

// Series checks the numbers and times of a recurring message, but does not read Cron and Zone.
func Series(r message.Recurring) error {
	if r.Delay != 0 {
		if err := span("Delay", r.Delay); err != nil {
			return err
		}
	}
	if err := period(r); err != nil {
		return err
	}
	if err := between(r.From, r.Until); err != nil {
		return err
	}
	switch {
	case r.Missed != message.MissedOnce && r.Missed != message.MissedSkip:
		return Invalid("Missed", r.Missed.String(), "MissedOnce or MissedSkip")
	case r.Cron != "":
		return nil
	case r.Zone != "":
		return Invalid("Zone", Quote(r.Zone), "empty where there is no Cron")
	case r.From.IsZero() && r.Delay == 0 && r.Period == 0:
		return Invalid("Cron", `""`, "given, or else Period, Delay or From: nothing says when to send")
	case r.From.IsZero() && r.Delay == 0 && r.Repeat > 0:
		// The first send would be due at the moment the rule is set, which is over.
		return Invalid("Delay", "0", "at least 1ms where neither Cron nor From says when to begin")
	}
	return nil
}

// period checks how often a firing sends.
func period(r message.Recurring) error {
	const least, repeats = 100 * time.Millisecond, 10_000
	repeat := strconv.Itoa(r.Repeat)
	switch {
	case r.Repeat < 0 || r.Repeat > repeats:
		return Invalid("Repeat", repeat, "0 to 10000")
	case r.Period == 0 && r.Repeat > 0:
		return Invalid("Period", "0", "at least 100ms where Repeat is given")
	case r.Period == 0:
		return nil
	case r.Period < least || r.Period > limits.Span:
		return Invalid("Period", r.Period.String(), "at least 100ms and at most 10 years")
	case r.Cron != "" && r.Repeat == 0:
		return Invalid("Repeat", repeat, "at least 1 where Cron and Period are given (the Period is that of the sends of one firing)")
	}
	return nil
}

// between checks the bounds of a recurring message. Each may be left open.
func between(from, until time.Time) error {
	for _, bound := range []struct {
		field string
		at    time.Time
	}{{"From", from}, {"Until", until}} {
		switch at := bound.at; {
		case at.IsZero():
		case at.Before(minAt):
			return Invalid(bound.field, at.UTC().Format(time.RFC3339Nano), "in the year 2000 at the earliest, or the zero time")
		case at.After(maxAt):
			return Invalid(bound.field, "in the year "+strconv.Itoa(at.Year()), "in the year 9999 at the latest")
		}
	}
	return nil
}
