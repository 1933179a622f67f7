package main

import (
	"fmt"
	"slices"
	"time"
)

// arrivals notes when the handler of each message started.
type arrivals struct {
	*identities
	begin time.Time
	after []time.Duration // of begin
}

func newArrivals(n int, begin time.Time) *arrivals {
	return &arrivals{identities: newIdentities(n), begin: begin, after: make([]time.Duration, n)}
}

// note is what a handler calls first. What it notes can be read when the worker
// is closed.
func (a *arrivals) note(content string) {
	after := time.Since(a.begin)
	if i := a.handled(content); i >= 0 {
		a.after[i] = after
	}
}

// latencies of one round, sorted.
type latencies []time.Duration

// since is how long after its time each handler started, negative when it was
// too early, of those messages that count.
func (a *arrivals) since(due func(i int) time.Duration, counts func(i int) bool) (all latencies) {
	for i, after := range a.after {
		if counts == nil || counts(i) {
			all = append(all, after-due(i))
		}
	}
	slices.Sort(all)
	return all
}

// ms is what a share of all stays within, in milliseconds.
func (l latencies) ms(share float64) float64 {
	at := min(int(share*float64(len(l))), len(l)-1)
	return float64(l[at].Microseconds()) / 1000
}

// early is how many came before their time.
func (l latencies) early() (n int) {
	for n < len(l) && l[n] < 0 {
		n++
	}
	return n
}

// rounds holds the latencies of one thing in every round.
type rounds []latencies

// ms is the median of the rounds.
func (r rounds) ms(share float64) float64 { return r.sorted(share)[len(r)/2] }

// spread reports the least and the most of the rounds.
func (r rounds) spread(share float64) string {
	all := r.sorted(share)
	return fmt.Sprintf("%.2f .. %.2f", all[0], all[len(all)-1])
}

// worst is the maximum of all rounds.
func (r rounds) worst() float64 { return slices.Max(r.sorted(1)) }

func (r rounds) sorted(share float64) (all []float64) {
	for _, l := range r {
		all = append(all, l.ms(share))
	}
	slices.Sort(all)
	return all
}

// early is how many came before their time, of how many, in all rounds together.
func (r rounds) early() (n, of int) {
	for _, l := range r {
		n, of = n+l.early(), of+len(l)
	}
	return n, of
}
