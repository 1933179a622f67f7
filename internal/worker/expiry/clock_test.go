package expiry

import (
	"context"
	"testing"
	"time"
)

// Whether a moment is over is only said for sure: of one between the bounds that a reading of the
// clock gives, it is waited for until it is.
func TestServerClock(t *testing.T) {
	t.Parallel()
	read, asked := time.UnixMilli(1_000_000), time.Now().Add(-10*time.Hour)
	answered := asked.Add(time.Hour)
	at := &Server{Requests: context.Background()}
	c := &Clock{Server: at, read: read, asked: asked, answered: answered}
	now := read.Add(time.Since(asked)) // what its clock shows at the most
	for moment, want := range map[time.Time]struct{ over, sure bool }{
		now.Add(-2 * time.Hour):    {true, true},
		now.Add(-30 * time.Minute): {false, false},
		now.Add(time.Hour):         {false, true},
	} {
		if by, ok := c.Past(moment, false); ok != want.sure || by > 0 != want.over {
			t.Errorf("%v: over for %v, sure %v", moment.Sub(now), by, ok)
		}
	}
	if by, ok := c.Past(read.Add(time.Since(answered)+20*time.Millisecond), true); !ok || by <= 0 {
		t.Errorf("over for %v, sure %v", by, ok)
	}
	c = &Clock{Server: at, read: read, asked: asked} // a fence: it may be ahead
	if _, ok := c.Past(now.Add(-2*time.Hour), false); ok {
		t.Error("it is over by a clock that nobody has read")
	}
}
