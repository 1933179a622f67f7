package plan

import (
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/message"
)

// The zones of the oracle: by an hour, half an hour and two, at midnight, and not at all.
var zones = []string{
	"Europe/Berlin", "Europe/Dublin", "America/New_York", "America/Sao_Paulo", "America/St_Johns",
	"Australia/Lord_Howe", "Antarctica/Troll", "Africa/Casablanca", "Asia/Kathmandu",
}

const (
	// longest is how long the times of a firing may last here.
	longest = 3 * 24 * time.Hour

	// Around a change of the clock.
	before, behind = longest + 3*24*time.Hour, 3 * 24 * time.Hour
)

// TestOracle draws rules, and compares their times with those that it finds by going through the
// minutes around the changes of the clock of a year, one by one.
func TestOracle(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewSource(sharetest.Seed(t)))
	rules := night.Times(60, 600)
	compared := 0
	for _, name := range zones {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, change := range changes(zone, 2001+random.Intn(37)) {
			minutes := minutesOf(zone, change.Add(-before), change.Add(behind))
			for range rules {
				d := draw(random, change)
				if zone := zone.String(); d.m.Cron != "" {
					d.m.Zone = zone
				}
				compared += d.compare(t, random, minutes)
			}
		}
	}
	t.Logf("%d times", compared)
	if compared == 0 {
		t.Error("nothing was compared")
	}
}

// changes are those of the clock in a year, to the hour; some day if there is none.
func changes(zone *time.Location, year int) (all []time.Time) {
	offset := func(at time.Time) int { _, offset := at.In(zone).Zone(); return offset }
	start := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	for at := start; at.Year() == year; at = at.Add(time.Hour) {
		if offset(at) != offset(at.Add(-time.Hour)) {
			all = append(all, at)
		}
	}
	if all == nil {
		all = append(all, start)
	}
	return all
}

// shownMinute is a minute, and the readings of the clock that are passed by then: for what goes by
// real time, and for what names hours.
type shownMinute struct {
	at    int64     // in ms
	now   reading   // what the clock shows
	first []reading // what it shows, or has left out, for the first time
}

type reading struct{ minute, hour, weekday int }

func read(shown int64) reading {
	t := time.Unix(shown*60, 0).UTC()
	return reading{t.Minute(), t.Hour(), int(t.Weekday())}
}

func minutesOf(zone *time.Location, from, to time.Time) (all []shownMinute) {
	highest := int64(0)
	for at := from.Truncate(time.Minute); at.Before(to); at = at.Add(time.Minute) {
		_, offset := at.In(zone).Zone()
		shown := (at.Unix() + int64(offset)) / 60
		m := shownMinute{at: at.UnixMilli(), now: read(shown)}
		if highest == 0 {
			highest = shown - 1
		}
		for ; highest < shown; highest++ {
			m.first = append(m.first, read(highest+1))
		}
		all = append(all, m)
	}
	return all
}

// drawn is a rule, and what its expression means.
type drawn struct {
	m                        message.Recurring
	base                     time.Time
	minutes, hours, weekdays []int // nil for *
}

func draw(random *rand.Rand, around time.Time) *drawn {
	span := func(most time.Duration) time.Duration { // often a short one
		return time.Duration(random.Int63n(1+random.Int63n(int64(most/time.Millisecond)))) * time.Millisecond
	}
	moment := func() time.Time { // within the times that are compared
		return around.Add(longest - before).Add(time.Duration(random.Int63n(int64(before+behind-longest)/1e6)) * time.Millisecond)
	}
	d := &drawn{base: moment()}
	d.m = message.Recurring{Name: "nightly", Content: "report"}
	if random.Intn(3) > 0 {
		d.drawCron(random)
	}
	if random.Intn(2) == 0 {
		d.m.Delay = span(longest / 2)
	}
	if random.Intn(2) == 0 {
		d.m.Period = max(100*time.Millisecond, span(longest/4))
		d.m.Repeat = int(min(longest/2/d.m.Period, time.Duration(1+random.Intn(300))))
		if d.m.Cron == "" && random.Intn(2) == 0 {
			d.m.Repeat = 0
			d.m.Period = max(d.m.Period, time.Minute) // they are counted
		}
	}
	if random.Intn(3) == 0 || d.m.Cron == "" && d.m.Delay == 0 {
		d.m.From = moment()
	}
	if random.Intn(3) == 0 {
		d.m.Until = moment()
	}
	return d
}

func (d *drawn) drawCron(random *rand.Rand) {
	field := func(values, most int) (string, []int) {
		if random.Intn(3) == 0 {
			return "*", nil
		}
		set := random.Perm(values)[:1+random.Intn(most)]
		text := fmt.Sprint(set[0])
		for _, v := range set[1:] {
			text += fmt.Sprint(",", v)
		}
		return text, set
	}
	var minutes, hours, weekdays string
	minutes, d.minutes = field(60, 4)
	hours, d.hours = field(24, 12)
	weekdays, d.weekdays = field(7, 4)
	d.m.Cron = minutes + " " + hours + " * * " + weekdays
}

// fires says whether the expression fires at a minute.
func (d *drawn) fires(m shownMinute) bool {
	if d.hours == nil {
		return d.names(m.now)
	}
	return slices.ContainsFunc(m.first, d.names)
}

func (d *drawn) names(r reading) bool {
	in := func(set []int, value int) bool { return set == nil || slices.Contains(set, value) }
	return in(d.minutes, r.minute) && in(d.hours, r.hour) && in(d.weekdays, r.weekday)
}

// times are all times of the rule from start to end, whenever it was set.
func (d *drawn) times(minutes []shownMinute, start, end int64) []int64 {
	var all []int64
	series := func(firing int64) {
		for i := 0; i <= d.m.Repeat || d.m.Repeat == 0 && d.m.Period > 0; i++ {
			at := firing + d.m.Delay.Milliseconds() + int64(i)*d.m.Period.Milliseconds()
			if at > end {
				return
			}
			if at >= start && (d.m.From.IsZero() || at >= d.m.From.UnixMilli()) && (d.m.Until.IsZero() || at <= d.m.Until.UnixMilli()) {
				all = append(all, at)
			}
		}
	}
	switch {
	case d.m.Cron != "":
		for _, m := range minutes {
			if d.fires(m) {
				series(m.at)
			}
		}
	case !d.m.From.IsZero():
		series(d.m.From.UnixMilli())
	default:
		series(d.base.UnixMilli())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// compare goes through the times of the rule, and asks for some at random, too.
func (d *drawn) compare(t *testing.T, random *rand.Rand, minutes []shownMinute) (compared int) {
	t.Helper()
	start, end := minutes[0].at+longest.Milliseconds(), minutes[len(minutes)-1].at+59_999
	want := d.times(minutes, start, end)
	r, err := New(topic, d.m, maxContent)
	if err != nil {
		var invalid *message.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "Until" || d.m.From.IsZero() || len(want) > 0 {
			t.Fatalf("%+v: %v, and there are %d times", d.m, err, len(want))
		}
		return 0
	}
	ask := func(base, after int64) bool {
		least := max(base, after)
		i, _ := slices.BinarySearch(want, least+1)
		next, comes := r.Next(time.UnixMilli(base), time.UnixMilli(after))
		switch {
		case i == len(want) && comes && next.UnixMilli() <= end, i < len(want) && (!comes || next.UnixMilli() != want[i]):
			t.Fatalf("%+v, set at %v: after %v comes %v, %v (%d of %d)", d.m, time.UnixMilli(base).UTC(), time.UnixMilli(after).UTC(), next, comes, i, len(want))
		}
		return i < len(want)
	}
	base := d.base.UnixMilli()
	for i := range want[:min(len(want), 500)] {
		ask(base, want[i])
		ask(base, max(start, want[i]-1))
	}
	for range 100 {
		if d.m.Cron != "" || !d.m.From.IsZero() { // else it is what the series begins with
			base = start + random.Int63n(end-start)
		}
		if ask(base, start+random.Int63n(end-start)) {
			compared++
		}
	}
	return compared
}
