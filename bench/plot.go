package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/report"
)

// plot draws the headline as two pictures, for light pages and for dark ones.
func (b *bench) plot(redis string, ours, naive, theirs, bare *contestant) error {
	r, a := summarize(ours.all), summarize(theirs.all)
	rates := report.Panel{Title: "Messages a second, sent and handled at once", Labels: 160}
	for _, one := range []struct {
		label string
		of    *contestant
		role  report.Role
	}{
		{"RMQ", ours, report.Own},
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
	picture := report.Picture{
		Title: fmt.Sprintf("RMQ handles %.0f times as many messages a second as asynq", r.rate/a.rate),
		Subtitle: fmt.Sprintf("Medians of %d rounds · Redis %s, asynq %s, Go %s · %d processors · %d-byte messages · %s", b.rounds, redis,
			version("github.com/hibiken/asynq"), strings.TrimPrefix(runtime.Version(), "go"), runtime.NumCPU(), b.payload, time.Now().Format(time.DateOnly)),
		Panels: []report.Panel{rates, cpu("Redis CPU for each message", r.redis, a.redis), cpu("Client CPU for each message", r.client, a.client)},
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
