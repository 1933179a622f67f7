// Package ownfigures has the figures of a Go process, under the names that Prometheus' own client uses: common
// dashboards and alerts know them.
package ownfigures

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
)

// Write writes those of this process, in the text format of Prometheus. Those of the operating system are read where there is a
// /proc, as on Linux.
func Write(b *bytes.Buffer) {
	of := []metrics.Sample{
		{Name: "/sched/goroutines:goroutines"}, {Name: "/sched/gomaxprocs:threads"}, {Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/goal:bytes"}, {Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/cycles/total:gc-cycles"},
	}
	metrics.Read(of)
	fmt.Fprintf(b, "# HELP go_info The version of Go.\n# TYPE go_info gauge\ngo_info{version=%q} 1\n", runtime.Version())
	for n, as := range [...]struct{ name, kind, help string }{
		{"go_goroutines", "gauge", "Goroutines that there are now."},
		{"go_sched_gomaxprocs_threads", "gauge", "Threads that may run Go at once."},
		{"go_memstats_sys_bytes", "gauge", "Memory from the operating system."},
		{"go_memstats_heap_alloc_bytes", "gauge", "Memory of the heap in use."},
		{"go_memstats_next_gc_bytes", "gauge", "Size of the heap at which the next collection ends."},
		{"go_memstats_alloc_bytes_total", "counter", "Memory that was allocated, since the start."},
		{"go_gc_cycles_total_gc_cycles_total", "counter", "Collections that have ended."},
	} {
		one(b, as.name, as.kind, as.help, float64(of[n].Value.Uint64()))
	}

	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return
	}
	const ticks = 100                                                         // a second, whatever the kernel's own are
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // from the third on
	field := func(n int) float64 {
		if n -= 3; n >= len(fields) {
			return 0
		}
		f, _ := strconv.ParseFloat(fields[n], 64)
		return f
	}
	one(b, "process_cpu_seconds_total", "counter", "Processor time, of user and system.", (field(14)+field(15))/ticks)
	one(b, "process_start_time_seconds", "gauge", "When the process began, since 1970.", startOfMachine()+field(22)/ticks)
	one(b, "process_virtual_memory_bytes", "gauge", "Virtual memory.", field(23))
	one(b, "process_resident_memory_bytes", "gauge", "Resident memory.", field(24)*float64(os.Getpagesize()))
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		one(b, "process_open_fds", "gauge", "Files and connections that are open.", float64(len(open)))
	}
	one(b, "process_max_fds", "gauge", "Files and connections that may be open.", mostFiles())
}

// one writes a metric that has no labels.
func one(b *bytes.Buffer, name, kind, help string, value float64) {
	fmt.Fprintf(b, "# HELP %[1]s %[3]s\n# TYPE %[1]s %[2]s\n%[1]s %[4]s\n", name, kind, help, strconv.FormatFloat(value, 'g', -1, 64))
}

// startOfMachine is when it was started, in seconds since 1970.
func startOfMachine() float64 {
	stat, _ := os.ReadFile("/proc/stat")
	_, rest, _ := strings.Cut(string(stat), "\nbtime ")
	text, _, _ := strings.Cut(rest, "\n")
	at, _ := strconv.ParseFloat(text, 64)
	return at
}

// mostFiles is how many this process may have open.
func mostFiles() float64 {
	limits, _ := os.ReadFile("/proc/self/limits")
	_, rest, _ := strings.Cut(string(limits), "\nMax open files ")
	if words := strings.Fields(rest); len(words) > 0 && words[0] != "unlimited" {
		most, _ := strconv.ParseFloat(words[0], 64)
		return most
	}
	return math.Inf(1)
}
