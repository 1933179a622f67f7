package main

import (
	"testing"
	"time"
)

// What an outage of a minute says of one of an hour: a probe each 30 s is added.
func TestOutageInAnHour(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lasted time.Duration
		failed int64
		want   float64
	}{{time.Minute, 70, 188}, {time.Hour, 150, 150}, {45 * time.Second, 70, 188}} {
		if got := (outage{lasted: c.lasted, failed: c.failed}).inAnHour(); got != c.want {
			t.Errorf("%d in %v: %v in an hour, not %v", c.failed, c.lasted, got, c.want)
		}
	}
}
