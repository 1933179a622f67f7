package humantime

import (
	"testing"
	"time"
)

func TestDuration(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 999 * time.Microsecond: "0s", time.Millisecond: "1ms", 850 * time.Millisecond: "850ms",
		time.Second: "1s", 12*time.Second + 900*time.Millisecond: "12s", time.Minute: "1m", 4*time.Minute + 10*time.Second: "4m10s",
		59*time.Minute + 59*time.Second: "59m59s", time.Hour + 10*time.Second: "1h", 3*time.Hour + 20*time.Minute: "3h20m",
		2*day + 5*time.Hour + time.Minute: "2d5h", 400 * day: "400d",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestInAndAgo(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration][2]string{
		-time.Minute: {"now", "now"}, 0: {"now", "now"}, 12 * time.Second: {"in 12s", "12s ago"},
	} {
		if got := [2]string{In(d), Ago(d)}; got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
