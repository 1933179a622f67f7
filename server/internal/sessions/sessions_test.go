package sessions

import (
	"testing"
	"time"
)

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	s, now := New(), time.Now()
	name := s.begin("a", now)
	for after, want := range map[time.Duration]string{0: "a", 12*time.Hour - 1: "a", 12 * time.Hour: ""} {
		if got := s.token(name, now.Add(after)); got != want {
			t.Errorf("after %v: %q", after, got)
		}
	}
	first := s.begin("first", now.Add(-time.Second))
	for range 10_000 - 2 {
		s.begin("b", now)
	}
	if s.token(first, now) != "first" || s.token(name, now) != "a" {
		t.Error("10,000 sessions do not fit")
	}
	if s.begin("c", now); s.token(first, now) != "" || s.token(name, now) != "a" || len(s.all) != 10_000 {
		t.Errorf("the oldest has not gone: %d", len(s.all))
	}
	if s.begin("d", now.Add(13*time.Hour)); len(s.all) != 1 {
		t.Errorf("%d are kept that are over", len(s.all)-1)
	}
}
