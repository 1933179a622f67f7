package jobs

import (
	"testing"
	"time"
)

// How long a job still takes is right for as many messages as there may be, and from the first ones on.
func TestTimeLeft(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		job  *Job
		want time.Duration
	}{
		{&Job{Total: 10_000_000, Began: time.Now().Add(-time.Hour), done: 360_000}, 96_400 * time.Second},
		{&Job{Total: 95, Began: time.Now().Add(-time.Second / 4), done: 4, Rate: 8}, 91 * time.Second / 8},
	} {
		if left := c.job.State().Left; left < c.want*9/10 || left > c.want*2 {
			t.Errorf("%v left, and not %v", left, c.want)
		}
	}
}
