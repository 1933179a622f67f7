package frame

import (
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/text/humantime"
)

// The age that divides old messages from new ones cannot be nothing: that would mean
// all of them.
func TestAges(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0", "0s", "0d", "999us", "0.0001s"} {
		if err := new(Age).Set(text); err == nil || !strings.Contains(err.Error(), "less than 1ms") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"-1h", "", "65535d2000000h"} {
		if err := new(Age).Set(text); err == nil {
			t.Errorf("%q is an age", text)
		}
	}
	if a := new(Age); a.Set("1ms") != nil || a.String() != "1ms" || a.Type() != "duration" {
		t.Error(a)
	}
}

func TestInstants(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 1, 31, 15, 4, 5, 678_000_000, time.UTC)
	for _, text := range []string{
		"2026-01-31T15:04:05.678Z", "2026-01-31T16:04:05.678+01:00",
		Moment(want), // as tables show it
		Stamp(want),
	} {
		if got, err := humantime.ParseInstant(text); err != nil || !got.Equal(want) {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	if got, err := humantime.ParseInstant("2026-01-31"); err != nil || !got.Equal(time.Date(2026, 1, 31, 0, 0, 0, 0, time.Local)) {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{
		"", "now", "15:04", "1769871845678", "2026-13-01",
		"0001-01-01T00:00:00Z", "0001-01-01T00:00:00.0001Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59-01:00", "12026-01-31T00:00:00Z",
	} {
		if got, err := humantime.ParseInstant(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestPaces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"100/s": "100/s", "100": "100/s", "5000/m": "5000/m", "30/m": "30/m", "20/h": "20/h", "0.5": "30/m", "7200/h": "2/s", "4/h": "4/h", "1000000": "1000000/s",
	} {
		var p Pace
		if err := p.Set(text); err != nil || p.String() != want {
			t.Errorf("%s: %s, %v", text, &p, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "x", "100/x", "/s", "NaN", "Inf", "1e10", "1000001", "1/h", "100/s/s", "1e30/s", "-1e30/s", "1e999/s", "-0", "1e-300/h", "0/s"} {
		if err := new(Pace).Set(text); err == nil {
			t.Errorf("%q is a rate", text)
		}
	}
}

func TestSlotLists(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"3": "3", "3,7": "3,7", "0-5": "0-5", "0-2,7, 9-10": "0-2,7,9-10", "65535": "65535", "4-4": "4"} {
		var l Slots
		if err := l.Set(text); err != nil || l.String() != want {
			t.Errorf("%s: %s, %v", text, &l, err)
		}
	}
	for _, text := range []string{"", "x", "-1", "3,", "5-3", "0-", "1-2-3", "0-65536", "3 7", "18446744073709551616", "-1-3", "0-18446744073709551615"} {
		if err := new(Slots).Set(text); err == nil {
			t.Errorf("%q are slots", text)
		}
	}
}
