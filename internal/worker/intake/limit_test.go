package intake

import (
	"testing"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// limited is what a topic was told.
type limited struct {
	rate   schedule.Rate
	places int
}

func (l *limited) SetRate(r schedule.Rate) { l.rate = r }

func (l *limited) Allow(_ schedule.Limiter, places int) { l.places = places }

// Of the options and the limit of a person the smaller counts, and the burst is that of a rate as small.
func TestLimit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o              Options
		p              protocol.Policy
		perSec, bursts float64
		places         int
	}{
		"none":                     {Options{Concurrency: 64}, protocol.Policy{}, 0, 1, 64},
		"a rate":                   {Options{PerSecond: 100, Concurrency: 64}, protocol.Policy{}, 100, 5, 64},
		"a slow one":               {Options{PerSecond: 0.5, Concurrency: 64}, protocol.Policy{}, 0.5, 1, 64},
		"a burst":                  {Options{PerSecond: 100, Burst: 30, Concurrency: 64}, protocol.Policy{}, 100, 30, 64},
		"a person's":               {Options{Concurrency: 64}, protocol.Policy{Rate: 100, Concurrency: 8}, 100, 5, 8},
		"a person's is smaller":    {Options{PerSecond: 200, Burst: 30, Concurrency: 64}, protocol.Policy{Rate: 100}, 100, 5, 64},
		"a person's and its burst": {Options{PerSecond: 200, Burst: 3, Concurrency: 64}, protocol.Policy{Rate: 100}, 100, 3, 64},
		"a person's is larger":     {Options{PerSecond: 50, Concurrency: 8}, protocol.Policy{Rate: 100, Concurrency: 64}, 50, 2.5, 8},
		"the clock stands still":   {Options{PerSecond: 50, Burst: 9, Concurrency: 8, Timeless: true}, protocol.Policy{Rate: 10}, 0, 1, 8},
	} {
		var got limited
		Limit(&got, c.o, c.p)
		if got.rate.PerSecond != c.perSec || got.rate.Burst != c.bursts || got.places != c.places {
			t.Errorf("%s: %+v", name, got)
		}
		if got.rate.Phase < 0 || got.rate.Phase > 1 {
			t.Errorf("%s: it begins with %v tokens", name, got.rate.Phase)
		}
	}
}
