// Package humantime writes times and rates as people say them: "in 4m10s", "12s ago", "50/s".
package humantime

import (
	"math"
	"strconv"
	"time"
)

// Duration is d with its two largest units, and never more than it is: 850ms, 12s,
// 4m10s, 3h20m, 2d5h. What is shorter than a millisecond, or negative, is 0s.
func Duration(d time.Duration) string {
	if d < time.Millisecond {
		return "0s"
	}
	if d < time.Second {
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	}
	units := []struct {
		name string
		size time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}
	for i, u := range units {
		if d < u.size {
			continue
		}
		text := strconv.FormatInt(int64(d/u.size), 10) + u.name
		if i+1 < len(units) {
			if rest := d % u.size / units[i+1].size; rest > 0 {
				text += strconv.FormatInt(int64(rest), 10) + units[i+1].name
			}
		}
		return text
	}
	return "0s" // not reached
}

// Round is d as precise as people want it who wait for its end: in seconds, from 10 minutes on in
// minutes, and from a day on in hours.
func Round(d time.Duration) time.Duration {
	switch {
	case d >= 24*time.Hour:
		return d.Round(time.Hour)
	case d >= 10*time.Minute:
		return d.Round(time.Minute)
	}
	return max(d.Round(time.Second), min(d, time.Second))
}

// Rate is how many a second, in the shortest unit that makes it 1 or more with no more than two
// decimals: 50/s, 7.5/m, 20000/h.
func Rate(perSecond float64) string {
	text := ""
	for _, unit := range []struct {
		name    string
		seconds float64
	}{{"/s", 1}, {"/m", 60}, {"/h", 3600}} {
		n := perSecond * unit.seconds
		short := math.Round(100*n) / 100
		switch {
		case n >= 1 && math.Abs(n-short) < n/1e9:
			return strconv.FormatFloat(short, 'f', -1, 64) + unit.name
		case text == "" && (n >= 1 || unit.name == "/h"):
			text = strconv.FormatFloat(n, 'g', 6, 64) + unit.name
		}
	}
	return text
}

// In says how far away something in the future is: "in 4m10s", or "now" if it is not.
func In(d time.Duration) string {
	if d < time.Millisecond {
		return "now"
	}
	return "in " + Duration(d)
}

// Ago says how long ago something was: "12s ago", or "now" if it was just now.
func Ago(d time.Duration) string {
	if d < time.Millisecond {
		return "now"
	}
	return Duration(d) + " ago"
}
