// Package night tells a test whether it is one of the long runs that `./test.sh -night` makes.
// They hold repetition only: by day every rule, every kind of fault and every promise has at
// least one test, and by night the same tests go on for longer.
//
//	for range night.Times(3, 100) { fault() }
//	night.AtMost(t, "the hand-over", time.Since(begun), time.Second)
package night

import (
	"os"
	"testing"
	"time"
)

// Is tells whether the long runs were asked for.
func Is() bool { return os.Getenv("RMQ_NIGHT") != "" }

// Times is how often, or how many: the first by day, the second by night.
func Times(day, night int) int {
	if Is() {
		return night
	}
	return day
}

// AtMost holds what took real time against its bound, by night only, when no other test runs
// beside: by day the machine may be so busy that the figure says nothing of the program. So a
// bound that is promised has another test by day, in virtual time or by the order of events.
func AtMost(t testing.TB, what string, took, bound time.Duration) {
	t.Helper()
	t.Logf("%s took %v; the bound is %v", what, took.Round(time.Millisecond), bound)
	if Is() && took > bound {
		t.Errorf("%s took %v, more than %v", what, took, bound)
	}
}
