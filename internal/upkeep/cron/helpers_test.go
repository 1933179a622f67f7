package cron

import (
	"testing"
	"time"
	_ "time/tzdata" // where the machine has no zones
)

func mustParse(t testing.TB, text string) *Expression {
	t.Helper()
	e, err := Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return e
}

func mustLoad(t testing.TB, zone string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// form is how the tables write times.
const form = "2006-01-02 15:04:05 -0700"

// following are the next times of an expression.
func following(e *Expression, after time.Time, zone *time.Location, most int) []string {
	var times []string
	for range most {
		next, found := e.Next(after, zone)
		if !found {
			break
		}
		times = append(times, next.Format(form))
		after = next
	}
	return times
}
