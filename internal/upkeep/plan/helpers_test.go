package plan

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"
	_ "time/tzdata" // where the machine has no zones

	"github.com/slotmq/go-rmq/message"
)

var topic = message.Topic{Name: "reports", Kind: message.KindFixedTime}

const maxContent = 1000

// base is when the rules of the tables are set: a Monday.
var base = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

// report is a message without its times.
func report() message.Recurring { return message.Recurring{Name: "nightly", Content: "report"} }

func mustNew(t testing.TB, m message.Recurring) *Rule {
	t.Helper()
	m.Name, m.Content = "nightly", "report"
	r, err := New(topic, m, maxContent)
	if err != nil {
		t.Fatalf("%+v: %v", m, err)
	}
	return r
}

// all are the times of a rule, most at the most.
func all(r *Rule, base time.Time, most int) (times []time.Time) {
	for next, found := r.Next(base, base); found && len(times) < most; next, found = r.Next(base, next) {
		times = append(times, next)
	}
	return times
}

// after says when, by seconds after base.
func after(seconds ...float64) (times []time.Time) {
	for _, s := range seconds {
		times = append(times, base.Add(time.Duration(math.Round(s*1000))*time.Millisecond))
	}
	return times
}

func wantTimes(t *testing.T, what string, got, want []time.Time) {
	t.Helper()
	if !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Errorf("%s:\n%v, not\n%v", what, got, want)
	}
}

// wantRefusal wants an error that names the field, its value and what it must be.
func wantRefusal(t *testing.T, err error, field, value, limit string) {
	t.Helper()
	var invalid *message.InvalidError
	if !errors.As(err, &invalid) || *invalid != (message.InvalidError{Field: field, Value: value, Limit: limit}) {
		t.Errorf("got: %v\nwant: %s is %s; it must be %s", err, field, value, limit)
	}
}
