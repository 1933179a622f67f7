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

func TestRound(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Hour - time.Millisecond: "1h", time.Hour - 40*time.Second: "59m", 10*time.Minute - time.Second: "9m59s", 10*time.Minute - time.Millisecond: "10m",
		90*time.Second - time.Millisecond: "1m30s", time.Second - time.Millisecond: "1s", 300 * time.Millisecond: "300ms", 0: "0s",
		48*time.Hour - time.Millisecond: "2d", 24*time.Hour - time.Millisecond: "1d", 53*time.Hour + 20*time.Minute: "2d5h", 90*time.Minute - time.Millisecond: "1h30m",
	} {
		if got := Duration(Round(d)); got != want {
			t.Errorf("%v is rounded to %q, want %q", d, got, want)
		}
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	for rate, want := range map[float64]string{
		50: "50/s", 1e6: "1000000/s", 7.5: "7.5/s", 1.25: "1.25/s", 600.0 / 60: "10/s", 7.5 / 60: "7.5/m", 10.0 / 3600: "10/h", 600.0 / 3600: "10/m",
		20000.0 / 3600: "20000/h", 20000.0 / 60: "20000/m", 1000.0 / 3600: "1000/h", 0.001: "3.6/h", 0.0001: "0.36/h",
		5.5555: "333.33/m", 0.123456: "7.40736/m", 3.14159265: "3.14159/s",
	} {
		if got := Rate(rate); got != want {
			t.Errorf("Rate(%v) = %q, want %q", rate, got, want)
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
