package main

import (
	"reflect"
	"slices"
	"testing"
	"time"
)

// All contestants and all rounds have the same load, in which a quiet tenant shares
// the slot of the one that imports.
func TestTenants(t *testing.T) {
	t.Parallel()
	const seconds = 20
	load := newTenants(100, 64, 1000, seconds*time.Second)
	if !reflect.DeepEqual(load, newTenants(100, 64, 1000, seconds*time.Second)) {
		t.Error("another load the second time")
	}
	if beside := load.beside(load.importer, 64); len(beside) != 2 || slices.Contains(beside, load.importer) {
		t.Errorf("beside the one that imports: %v", beside)
	}
	sent := map[string]int{}
	for _, m := range load.quiet {
		sent[m.tenant]++
		if m.at < 0 || m.at >= seconds*time.Second {
			t.Errorf("%s sends at %v", m.tenant, m.at)
		}
	}
	if n := len(load.quiet); n < 90*seconds || n > 110*seconds || len(sent) != 99 || sent[load.importer] > 0 {
		t.Errorf("%d messages of %d tenants", n, len(sent))
	}
	if !slices.IsSortedFunc(load.quiet, func(a, b moment) int { return int(a.at - b.at) }) {
		t.Error("not in the order of time")
	}
}

// What was never handled counts as a wait until the end, and not as none.
func TestWaits(t *testing.T) {
	t.Parallel()
	load := tenants{quiet: []moment{{1 * time.Second, "a"}, {2 * time.Second, "b"}, {3 * time.Second, "a"}}, rows: 3}
	noted := newArrivals(load.size(), time.Now())
	for i, after := range map[int]time.Duration{0: 5 * time.Second, 3: 6 * time.Second, 4: 7 * time.Second} {
		noted.handled(content(i, 16))
		noted.after[i] = after
	}
	all := load.waits(noted, 10*time.Second, func(string) bool { return true })
	if want := (latencies{4 * time.Second, 7 * time.Second, 8 * time.Second}); !slices.Equal(all, want) {
		t.Errorf("waits of all: %v", all)
	}
	if of := load.waits(noted, 10*time.Second, func(tenant string) bool { return tenant == "b" }); !slices.Equal(of, latencies{8 * time.Second}) {
		t.Errorf("waits of one: %v", of)
	}
	if n := load.stuck(noted); n != 2 {
		t.Errorf("%d were not handled", n)
	}
	if rows, last := load.imported(noted); rows != 2 || last != 7*time.Second {
		t.Errorf("%d rows until %v", rows, last)
	}
}
