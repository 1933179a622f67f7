package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
)

// plot draws the headline as two pictures, for light pages and for dark ones. What the
// processors do comes first: it moves least from run to run.
func (b *bench) plot(redis string, runs []headline, ours, naive, theirs, bare *contestant) error {
	r, a := summarize(ours.all), summarize(theirs.all)
	rates := report.Panel{Title: "Messages a second, sent and handled at once: more is better", Labels: 160}
	for _, one := range []struct {
		label string
		of    *contestant
		role  report.Role
	}{
		{"RMQ, 16 slots", ours, report.Own},
		{"naive queue", naive, report.Other},
		{"asynq", theirs, report.Other},
		{"ZADD, only adding", bare, report.Reference},
	} {
		if len(one.of.all) > 0 {
			rate := summarize(one.of.all).rate
			rates.Bars = append(rates.Bars, report.Bar{Label: one.label, Value: rate, Text: report.Round(rate), Role: one.role})
		}
	}
	cpu := func(title string, ours, theirs float64) report.Panel {
		return report.Panel{Title: title, Labels: 56, Bars: []report.Bar{
			{Label: "RMQ", Value: ours, Text: fmt.Sprintf("%.1f µs", ours), Role: report.Own},
			{Label: "asynq", Value: theirs, Text: fmt.Sprintf("%.1f µs", theirs)},
		}}
	}
	note := "asynq does more for each task: it keeps a state, statistics and a retention."
	if len(runs) > 1 {
		note += fmt.Sprintf(" The range is that of %d whole runs; the bars show the last one.", len(runs))
	}
	picture := report.Picture{
		Title: headlineOf(runs),
		Note:  note,
		Subtitle: fmt.Sprintf("Medians of %d rounds · Redis %s, asynq %s, Go %s · %d processors · %d-byte messages · %s", b.rounds, redis,
			version("github.com/hibiken/asynq"), strings.TrimPrefix(runtime.Version(), "go"), runtime.NumCPU(), b.payload, time.Now().Format(time.DateOnly)),
		Panels: []report.Panel{rates, cpu("Redis CPU for each message: less is better", r.redis, a.redis), cpu("Client CPU for each message: less is better", r.client, a.client)},
	}
	if err := os.MkdirAll(b.plots, 0o755); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	for name, theme := range map[string]report.Theme{"headline-light.svg": report.Light, "headline-dark.svg": report.Dark} {
		if err := os.WriteFile(filepath.Join(b.plots, name), []byte(picture.SVG(theme)), 0o644); err != nil {
			return fmt.Errorf("plot: %w", err)
		}
	}
	return nil
}

// headlineOf says in one line what several runs say.
func headlineOf(runs []headline) string {
	least, most := slices.MinFunc(runs, byMedian), slices.MaxFunc(runs, byMedian)
	last := runs[len(runs)-1]
	return fmt.Sprintf("1/%.0f of asynq's Redis CPU for a message, and %.0f to %.0f times as fast", last.redis, least.median, most.median)
}

// version is that of a module this program is built with.
func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == module {
			return strings.TrimPrefix(m.Version, "v")
		}
	}
	return ""
}
