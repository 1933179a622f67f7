package cron

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// The zones of the oracle: rules of each kind, zones that changed their rules, and one that
// has just an odd offset.
var zones = []string{
	"Europe/Berlin", "Europe/Dublin", "America/New_York", "America/Sao_Paulo", "America/St_Johns", "Australia/Lord_Howe",
	"Asia/Kathmandu", "Asia/Gaza", "Africa/Casablanca", "Pacific/Apia", "Pacific/Kwajalein", "Antarctica/Troll",
}

// years are how many are gone through in each zone.
var years = night.Times(20, 40)

// TestOracle goes through twenty years minute by minute, by night forty, in twelve zones, and compares what comes with
// what Next says. The years begin anywhere from 1972 on, when the last zone gave up seconds. By night
// there are more expressions, and the offset of each minute is asked for.
func TestOracle(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	came := 0
	for _, name := range zones {
		zone := mustLoad(t, name)
		from := time.Date(1972+random.IntN(60), time.Month(1+random.IntN(12)), 1, 0, 0, 0, 0, time.UTC)
		var walks []*walk
		for n := range night.Times(3, 30) {
			most := []int{400, 2_000, 40_000}[n%3] // a year
			plan := drawPlan(random, most)
			walks = append(walks, &walk{t: t, zone: zone, plan: plan, next: mustParse(t, plan.text)})
		}
		for _, plan := range eachMinute() {
			walks = append(walks, &walk{t: t, zone: zone, plan: plan, next: mustParse(t, plan.text), near: true})
		}
		walkThrough(zone, from, from.AddDate(years, 0, 0), walks, random)
		for _, w := range walks {
			came += w.came
		}
	}
	t.Logf("%d times", came)
	if came == 0 {
		t.Error("nothing was compared")
	}
}

// minuteOfZone is a minute as the clock of a zone shows it.
type minuteOfZone struct {
	minute, hour, date, month, weekday int
}

// readMinute is what a clock shows that is offset ahead of UTC.
func readMinute(shown int64) minuteOfZone {
	t := time.Unix(shown*60, 0).UTC()
	return minuteOfZone{t.Minute(), t.Hour(), t.Day(), int(t.Month()), int(t.Weekday())}
}

// walkThrough moves a clock from minute to minute, and shows it to the walks.
func walkThrough(zone *time.Location, from, to time.Time, walks []*walk, random *rand.Rand) {
	offset := offsets(zone)
	start, end := from.Unix()/60, to.Unix()/60
	last := start + offset(start) - 1 // in minutes: what the clock showed last, and at most
	highest := last
	asks, near := start, int64(0)
	var r minuteOfZone
	for now := start; now < end; now++ {
		shown := now + offset(now)
		if shown%60 == 0 || shown != last+1 || now == start {
			r = readMinute(shown)
		} else {
			r.minute++
		}
		if shown != last+1 {
			asks, near = now, now+180 // ask for each minute of the next three hours
		}
		for _, w := range walks {
			switch {
			case now < near || !w.near && (now == asks || w.plan.minutes[r.minute]): // else see finds nothing
				w.see(now, r, shown, highest)
			case now == near:
				w.asked, w.last = w.asked[:0], 0
			}
			if now == asks && (now < near || !w.near) {
				w.ask(now)
			}
		}
		if now == asks {
			if asks++; now >= near {
				asks += random.Int64N(100_000)
			}
		}
		last, highest = shown, max(highest, shown)
	}
}

// offsets is the offset of a zone in minutes. It asks for each quarter of an hour, as zones change
// their clocks then, or a minute past; around a change, and by night, for each minute.
func offsets(zone *time.Location) func(minute int64) int64 {
	ask := func(minute int64) int64 {
		_, offset := time.Unix(minute*60, 0).In(zone).Zone()
		return int64(offset / 60)
	}
	if night.Is() {
		return ask
	}
	var at, until, same int64
	return func(minute int64) int64 {
		if minute < until {
			return same
		}
		if minute >= at {
			at = minute + 15
			same = ask(minute)
			if ask(at-1) == same {
				until = at
				return same
			}
		}
		return ask(minute)
	}
}

// walk compares one expression with what a clock shows.
type walk struct {
	t    *testing.T
	zone *time.Location
	plan *plan
	next *Expression
	near bool // only in the hours after a change of the clock

	came   int
	asked  []int64 // minutes after which nothing came since
	last   int64   // the minute that came last; 0 for none
	failed bool
}

// see is called for each minute, with what the clock shows then, and the most that it showed before.
func (w *walk) see(now int64, r minuteOfZone, shown, highest int64) {
	comes := w.plan.minutes[r.minute] && w.plan.fires(r)
	if !w.plan.everyHour {
		comes = comes && shown > highest // for the first time
		for left := highest + 1; left < shown && !comes; left++ {
			comes = w.plan.fires(readMinute(left))
		}
	}
	if !comes {
		return
	}
	w.came++
	if w.last != 0 {
		w.compare(time.Unix(w.last*60, 0), now)
	}
	for _, asked := range w.asked {
		w.compare(time.Unix(asked*60, 0), now)
		w.compare(time.Unix(asked*60-1, 999_999_999), w.before(asked, now))
	}
	w.asked, w.last = w.asked[:0], now
}

// ask wants Next to be compared for a minute, as soon as it is known what came after it.
func (w *walk) ask(now int64) {
	if len(w.asked) < 1000 {
		w.asked = append(w.asked, now)
	}
}

// before is what came next, seen from just before the minute that was asked for.
func (w *walk) before(asked, next int64) int64 {
	if asked == w.last {
		return asked
	}
	return next
}

func (w *walk) compare(after time.Time, want int64) {
	got, found := w.next.Next(after, w.zone)
	if w.failed || found && got.Unix() == want*60 {
		return
	}
	w.failed = true
	w.t.Errorf("%v: %q after %v comes %v, not %v", w.zone, w.plan.text, after.In(w.zone), got, time.Unix(want*60, 0).In(w.zone))
}
