package watchdog

import (
	"testing"
	"time"
)

// In the least lease the answer to a touch that takes four times as long as usual comes before the lease is taken to be over, and the
// default is long enough for any network.
func TestLeastLease(t *testing.T) {
	for _, trip := range []time.Duration{0, time.Millisecond, 85 * time.Millisecond, 600 * time.Millisecond, 4 * time.Second} {
		least := leastLease(trip)
		if touched := touchedAfter(least) + 4*trip; touched > least-margin(least)+time.Millisecond {
			t.Errorf("a round trip of %v: touched after %v, of a lease of %v", trip, touched, least)
		}
	}
	if got := leastLease(600 * time.Millisecond); got != 4350*time.Millisecond {
		t.Errorf("600 ms need a lease of %v", got)
	}
	if got := leastLease(40 * time.Millisecond); got > time.Second {
		t.Errorf("40 ms need a lease of %v", got)
	}
	if got := leastLease(2 * time.Second); got > 15*time.Second {
		t.Errorf("2 s need a lease of %v", got)
	}
}

// A worker trusts its lease for less long than Redis does, by a tenth and at least half
// a second: that is the time in which a handler must come to its end.
func TestLeaseIsTrustedForLessLongThanItIs(t *testing.T) {
	t.Parallel()
	sent := time.Now()
	for lasts, least := range map[time.Duration]time.Duration{time.Second: 500 * time.Millisecond, 30 * time.Second: 3 * time.Second} {
		var l lease
		l.renewed(sent, lasts, time.Second)
		if ends := sent.Add(lasts); l.over(ends.Add(-least)) || !l.over(ends.Add(1-least)) {
			t.Errorf("a lease of %v is trusted until %v before its end, want %v", lasts, ends.Sub(l.until), least)
		}
	}
}

// Without a lease nothing is over, and the batch is asked about all the same.
func TestNoLease(t *testing.T) {
	t.Parallel()
	sent := time.Now()
	var l lease
	if l.renewed(sent, 0, time.Second); l.over(sent.Add(time.Hour)) || !l.touchAt.Equal(sent.Add(time.Second)) {
		t.Errorf("it holds until %v, and is asked about after %v", l.until, l.touchAt.Sub(sent))
	}
}

// touchedAfter is when the lease of a batch is renewed.
func touchedAfter(lasts time.Duration) time.Duration {
	var l lease
	sent := time.Now()
	l.renewed(sent, lasts, 0)
	return l.touchAt.Sub(sent)
}
