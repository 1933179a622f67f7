package request

import (
	"cmp"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/text/pattern"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
)

// Filter says which dead messages are meant. The words are those of rmq dead.
type Filter struct {
	Content    string `json:"content"`
	Base64     []byte `json:"content_base64"` // exactly that content
	Regexp     string `json:"content_regex"`
	Reason     string `json:"reason"`
	OlderThan  string `json:"older_than"`
	NewerThan  string `json:"newer_than"`
	DiedBefore string `json:"died_before"`
	DiedAfter  string `json:"died_after"`
	Slots      []int  `json:"slots"`
}

// Filter reads a filter from parameters.
func (q Query) Filter() (f Filter, err error) {
	f = Filter{
		Content: q["content"], Regexp: q["content_regex"], Reason: q["reason"],
		OlderThan: q["older_than"], NewerThan: q["newer_than"], DiedBefore: q["died_before"], DiedAfter: q["died_after"],
	}
	if text, given := q["content_base64"]; given {
		content, err := unbase64(text)
		if err != nil || text == "" {
			return f, problem.Invalid("content_base64", strconv.Quote(text), "a content in base64")
		}
		f.Base64 = []byte(content)
	}
	if text, given := q["slots"]; given {
		if f.Slots, err = wire.ParseSlots(text); err != nil {
			return f, problem.Invalid("slots", strconv.Quote(text), "slots such as 3, 3,7 or 0-5")
		}
	}
	return f, nil
}

// Query is the query of a filter. It counts ages from now, by the clock of Redis, which it asks only if
// it needs it.
func (f Filter) Query(clock func() (time.Time, error)) (q inspector.DeadQuery, err error) {
	q = inspector.DeadQuery{Slots: f.Slots, Reason: f.Reason}
	if q.Content, err = f.fits(); err != nil {
		return q, err
	}
	var older, newer time.Duration
	if err := read(field{"died_before", f.DiedBefore, &q.OlderThan}, field{"died_after", f.DiedAfter, &q.NewerThan},
		field{"older_than", f.OlderThan, &older}, field{"newer_than", f.NewerThan, &newer}); err != nil {
		return q, err
	}
	if err := cmp.Or(age("older_than", f.OlderThan, older), age("newer_than", f.NewerThan, newer)); err != nil {
		return q, err
	}
	var now time.Time
	if older != 0 || newer != 0 {
		if now, err = clock(); err != nil {
			return q, err
		}
	}
	wire.Aged(&q, now, older, newer)
	return q, nil
}

// fits chooses contents; nil: all.
func (f Filter) fits() (fits func(content string) bool, err error) {
	given := 0
	for _, there := range []bool{f.Content != "", f.Base64 != nil, f.Regexp != ""} {
		if there {
			given++
		}
	}
	if given > 1 {
		return nil, problem.Invalid("content", "given in several ways", "one of content, content_base64 and content_regex")
	}
	if err := someSlots(f.Slots); err != nil {
		return nil, err
	}
	switch {
	case f.Content != "":
		if fits, err = pattern.Glob(f.Content); err != nil {
			err = problem.Invalid("content", strconv.Quote(f.Content), "a glob such as order 47*: "+err.Error())
		}
	case f.Regexp != "":
		if fits, err = pattern.Regexp(f.Regexp); err != nil {
			err = problem.Invalid("content_regex", strconv.Quote(f.Regexp), "a regular expression: "+err.Error())
		}
	case f.Base64 != nil:
		exact := string(f.Base64)
		fits = func(content string) bool { return content == exact }
	}
	return fits, err
}
