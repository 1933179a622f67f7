package cron

import (
	"testing"
	"time"
)

func BenchmarkNext(b *testing.B) {
	for _, c := range []struct{ name, expr, zone string }{
		{"minute", "* * * * *", "UTC"},
		{"quarter", "*/15 * * * *", "Europe/Berlin"},
		{"nightly", "0 3 * * *", "Europe/Berlin"},
		{"workday", "30 8 * * 1-5", "America/New_York"},
		{"monthly", "@monthly", "Asia/Kathmandu"},
		{"leap year", "0 0 29 2 *", "Europe/Berlin"},
		{"leap Monday", "0 0 */28 2 mon", "Europe/Berlin"},
		{"hours of a leap year", "0 * 29 2 *", "Europe/Berlin"},
		{"never", "0 0 30 2 *", "Europe/Berlin"},
	} {
		b.Run(c.name, func(b *testing.B) {
			e, zone := mustParse(b, c.expr), mustLoad(b, c.zone)
			if c.name == "leap Monday" {
				e.days &^= span(1, 1)
			}
			after := time.Date(2028, 3, 1, 0, 0, 0, 0, zone)
			b.ReportAllocs()
			for b.Loop() {
				e.Next(after, zone)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse("*/15 8-18 1,15 jan-jun mon-fri"); err != nil {
			b.Fatal(err)
		}
	}
}
