package gateway

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/humantime"
)

// fieldNames are those of JSON, where they are not those of Go in small letters.
var fieldNames = map[string]string{
	"SlotBasis":  "basis",
	"Topic.Name": "topic",
	"MaxLate":    "max_late",
	"slot":       "slots",
	"OlderThan":  "died_before",
	"FixedTime":  "fixed-time message",

	"the time of Later":                "in",
	"the time until the next delivery": "in",
}

// fieldName is what a field is called in JSON, of which an error of the library speaks.
func fieldName(field string) string {
	if is, known := fieldNames[field]; known {
		return is
	}
	name := field[strings.LastIndexAny(field, ".")+1:]
	if is, known := fieldNames[name]; known {
		return is
	}
	return strings.ToLower(strings.TrimPrefix(name, "the "))
}

// goNames are those of fields of messages and topics, as errors of the library write them.
var goNames = regexp.MustCompile(`\b(Topic\.Notes|Notes|SlotBasis|Range|Extend|Ceiling|Priority|At|In|Unique|TTL|Headers|FixedTime)\b`)

// inJSON is a text of the library with the names that fields have in JSON.
func inJSON(text string) string { return goNames.ReplaceAllStringFunc(text, fieldName) }

// field is a text in a request that has to be read.
type field struct {
	name, text string
	to         *time.Duration
}

// spans reads durations. What is empty was not given, and stays as it is.
func spans(fields ...field) (err error) {
	for _, f := range fields {
		if f.text == "" {
			continue
		}
		if *f.to, err = humantime.ParseSpan(f.text); err != nil {
			return invalid(f.name, f.text, "a duration such as 90s, 1h30m or 7d")
		}
	}
	return nil
}

// instant reads a point in time, with its zone: the clock on the wall here is not that of who asks. What is empty was
// not given.
func instant(name, text string, to *time.Time) (err error) {
	if text == "" {
		return nil
	}
	if *to, err = humantime.ParseStamp(text); err != nil {
		return invalid(name, strconv.Quote(text), "a time such as 2026-01-31T15:04:05Z")
	}
	return nil
}

// inside is an error about a field of a part of what was asked.
func inside(err error, part string) error {
	var p *problem
	if !errors.As(err, &p) || p.Field == "" {
		return err
	}
	full := *p
	full.Field = part + "." + p.Field
	full.Detail = part + "." + p.Detail
	return &full
}
