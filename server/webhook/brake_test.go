package webhook

import (
	"testing"
	"time"
)

// An hour in which a target cannot be reached: pauses grow to half a minute, however many requests fail at the same
// time. What the target asked for before counts, too, and an answer ends it.
func TestBrakeInAnHour(t *testing.T) {
	t.Parallel()
	var b brake
	now := time.Now()
	begin, probes, told := now, 0, 0
	for now.Before(begin.Add(time.Hour)) {
		var rest time.Duration
		for range defaultConcurrency {
			again, isNew := b.unreachable(now)
			if isNew {
				told++
			}
			if rest > 0 && again != rest {
				t.Fatalf("requests that fail together rest for %v and %v", rest, again)
			}
			rest = again
		}
		if want := min(firstPause<<min(probes, 10), lastPause); rest != want || b.rest(now) != rest {
			t.Fatalf("after probe %d it rests for %v and not %v", probes, rest, want)
		}
		probes++
		now = now.Add(rest)
	}
	if told != 1 || probes < 120 || probes > 130 {
		t.Errorf("%d probes; people are told %d times", probes, told)
	}
	if away := b.reached(now); away != now.Sub(begin) || b.rest(now) > 0 || b.reached(now) != 0 {
		t.Errorf("it was away for %v", away)
	}
	for range patientAfter {
		b.asked(now, time.Minute)
	}
	if rest, isNew := b.unreachable(now); rest != time.Minute || !isNew {
		t.Errorf("it rests for %v", rest)
	}
	if _, isNew := b.unreachable(now); isNew {
		t.Error("people are told once more")
	}
}
