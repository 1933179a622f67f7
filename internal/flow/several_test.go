package flow

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// Several workers share something that serves eight at a time. What it serves is all served, and
// each worker has about its share of it; but they rarely stay with fewer handlers, since the others
// would take what one left.
func TestSeveralWorkersShareABottleneck(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	for _, n := range []int{1, 2, 4} {
		var all []*world
		for range n {
			w := newWorld(random, New(1, 64), 1, around(20*time.Millisecond))
			if len(all) > 0 {
				w.now, w.behind = all[0].now, all[0].behind
			}
			all = append(all, w)
		}
		all[0].capacity(8)
		run(time.Minute, all...)
		before := make([]int, n)
		for i, w := range all {
			before[i] = w.good
		}
		const seconds = 300
		rate, handlers, least := run(seconds*time.Second, all...), 0, 1.0
		for i, w := range all {
			handlers += w.limit.Stays()
			least = min(least, float64(w.good-before[i])/seconds/rate*float64(n))
		}
		t.Logf("%d workers with %d handlers: %.0f of 400 messages a second; one has %.2f of its share", n, handlers, rate, least)
		if rate < 0.97*400 || least < 0.6 {
			t.Error("too little is handled, by all or by one")
		}
	}
}
