package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/slots"
)

// tenants is the load of a round: one tenant imports many rows at once, while others
// send a message now and then.
type tenants struct {
	names    []string
	importer string
	quiet    []moment // of the others; messages are numbered in this order, and rows follow
	rows     int
}

// moment is when a tenant sends one message.
type moment struct {
	at     time.Duration
	tenant string
}

// newTenants makes n tenants, of whom all but one send a message a second each, at
// random times. The names and the times are the same in every round. The one that
// imports shares its slot, of so many, with as many others as is usual.
func newTenants(n, slots, rows int, during time.Duration) tenants {
	t := tenants{rows: rows}
	random := rand.New(rand.NewPCG(1, 0))
	for range n {
		t.names = append(t.names, fmt.Sprintf("tenant-%08x", random.Uint32()))
	}
	usually := int(float64(n-1)/float64(slots) + 0.5)
	t.importer = slices.MinFunc(t.names, func(a, b string) int {
		return distance(len(t.beside(a, slots)), usually) - distance(len(t.beside(b, slots)), usually)
	})
	for _, name := range t.names {
		if name != t.importer {
			for _, at := range poisson(random, 1, during) {
				t.quiet = append(t.quiet, moment{at, name})
			}
		}
	}
	slices.SortStableFunc(t.quiet, func(a, b moment) int { return int(a.at - b.at) })
	return t
}

func distance(a, b int) int { return max(a, b) - min(a, b) }

// beside are the others in a tenant's slot.
func (t tenants) beside(name string, width int) (others []string) {
	for _, other := range t.names {
		if other != name && slots.Of(other, width) == slots.Of(name, width) {
			others = append(others, other)
		}
	}
	return others
}

// size is how many messages there are.
func (t tenants) size() int { return len(t.quiet) + t.rows }

func (t tenants) pace(i int) time.Duration { return t.quiet[i].at }

// waits are how long messages of the quiet tenants waited, of those tenants that
// count. One that was not handled has waited at least until the end.
func (t tenants) waits(a *arrivals, end time.Duration, counts func(tenant string) bool) latencies {
	all := make(latencies, 0, len(t.quiet))
	for i, m := range t.quiet {
		if !counts(m.tenant) {
			continue
		}
		if a.has(i) {
			all = append(all, a.after[i]-m.at)
		} else {
			all = append(all, end-m.at)
		}
	}
	slices.Sort(all)
	return all
}

// stuck is how many messages of the quiet tenants were not handled.
func (t tenants) stuck(a *arrivals) (n int) {
	for i := range t.quiet {
		if !a.has(i) {
			n++
		}
	}
	return n
}

// imported is how many rows were handled, and after what time the last of them began.
func (t tenants) imported(a *arrivals) (rows int, last time.Duration) {
	for i := len(t.quiet); i < t.size(); i++ {
		if a.has(i) {
			rows, last = rows+1, max(last, a.after[i])
		}
	}
	return rows, last
}
