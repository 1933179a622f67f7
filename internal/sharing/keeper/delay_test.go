package keeper

import (
	"testing"
	"time"
)

func TestDelays(t *testing.T) {
	t.Parallel()
	const s, ms = time.Second, time.Millisecond
	type change struct {
		at     time.Duration
		urgent bool
	}
	for name, c := range map[string]struct {
		changes []change
		due     time.Duration
	}{
		"one comes":                    {[]change{{0, false}}, s},
		"one goes":                     {[]change{{0, true}}, 100 * ms},
		"another comes":                {[]change{{0, false}, {900 * ms, false}}, 1900 * ms},
		"they come and come":           {[]change{{0, false}, {s, false}, {2 * s, false}, {3 * s, false}, {4 * s, false}, {4900 * ms, false}}, 5 * s},
		"one comes, one goes":          {[]change{{0, false}, {500 * ms, true}}, 600 * ms},
		"one goes just before":         {[]change{{0, false}, {950 * ms, true}}, s},
		"one goes, one comes":          {[]change{{0, true}, {50 * ms, false}}, 100 * ms},
		"they go and go":               {[]change{{0, true}, {50 * ms, true}, {90 * ms, true}}, 100 * ms},
		"they come and come, one goes": {[]change{{0, false}, {s, false}, {4950 * ms, true}}, 2 * s},
	} {
		var d delay
		begun := time.Now()
		for _, change := range c.changes {
			d.note(begun.Add(change.at), change.urgent, usualDelays)
		}
		if due := d.due.Sub(begun); due != c.due {
			t.Errorf("%s: due after %v, want %v", name, due, c.due)
		}
		if d.reset(); !d.due.IsZero() || !d.first.IsZero() || d.urgent {
			t.Errorf("%s: %+v is left", name, d)
		}
	}
}
