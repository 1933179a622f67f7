package main

import (
	"io"
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
)

// waiting is a row whose messages all waited so many ms.
func waiting(handling string, percent, n, slots, ms int, backlog float64) *workCell {
	return &workCell{handling: handling, percent: percent, workers: workers{n: n, places: workPlaces / n, slots: slots},
		waits: latencies{time.Duration(ms) * time.Millisecond}, backlog: backlog}
}

func lines(goals []goal) (all []string) {
	for _, g := range goals {
		all = append(all, g.row()[0]+" "+g.row()[1]+": "+g.row()[2])
	}
	return all
}

// Each row is compared with asynq's of as many workers, at the same load, and of all of
// them the worst counts.
func TestWorkGoals(t *testing.T) {
	t.Parallel()
	r := &workRun{bench: &bench{Report: report.New(io.Discard)}, cells: []*workCell{
		waiting("exp", 70, 1, 16, 30, 0.5), waiting("exp", 70, 1, 64, 5, 0.9), waiting("exp", 70, 1, 0, 10, 0.8),
		waiting("exp", 70, 8, 256, 12, 0.6), waiting("exp", 70, 8, 0, 3, 0.9),
		waiting("exp", 90, 1, 16, 50, 0), waiting("exp", 90, 1, 0, 25, 0),
		waiting("rare", 20, 2, 256, 9, 0), waiting("zipf", 70, 1, 16, 8, 0),
	}}
	if got, want := lines(r.each()), []string{
		"exp, 1 × 64, 70 %: RMQ, 16 slots: p99 to asynq's ≤ 0.67: 3", "exp, 1 × 64, 70 %: RMQ, 16 slots: p50 to asynq's ≤ 0.33: 3",
		"exp, 1 × 64, 70 %: RMQ, 16 slots: p99 ≤ 5 ms: 30",
		"exp, 1 × 64, 70 %: RMQ, 64 slots: p99 to asynq's ≤ 0.67: 0.5", "exp, 1 × 64, 70 %: RMQ, 64 slots: p50 to asynq's ≤ 0.33: 0.5",
		"exp, 1 × 64, 70 %: RMQ, 64 slots: p99 ≤ 5 ms: 5",
		"exp, 8 × 8, 70 %: RMQ, 256 slots: p99 ≤ 10 ms: 12",
		"rare, 2 × 32, 20 %: RMQ, 256 slots: p99 ≤ 10 ms: 9",
	}; !slices.Equal(got, want) {
		t.Errorf("rows: %q", got)
	}
	if got, want := lines(r.together()), []string{
		"exp, 70 %: p99 to asynq's ≤ 1: 4", "exp, 70 %: rate of a backlog to asynq's ≥ 1: 0.63", "exp, 90 %: p99 to asynq's ≤ 1: 2",
	}; !slices.Equal(got, want) {
		t.Errorf("together: %q", got)
	}
	if most := r.worst("exp", 70); most != 30 {
		t.Errorf("the worst is %v ms", most)
	}
}
