package plan

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/message"
)

// The three examples by which delay, period, repeat and cron are known.
func TestTextbook(t *testing.T) {
	t.Parallel()
	hourly := []time.Time{}
	for hour := range 24 {
		for second := range 10 {
			hourly = append(hourly, after(float64(3600*hour+1+second))...)
		}
	}
	for _, c := range []struct {
		name string
		m    message.Recurring
		want []time.Time
	}{
		{"after 60 s", message.Recurring{Delay: time.Minute}, after(60)},
		{"after 60 s, and then 5 more each 10 s", message.Recurring{Delay: time.Minute, Period: 10 * time.Second, Repeat: 5}, after(60, 70, 80, 90, 100, 110)},
		{"hourly, each with a series", message.Recurring{Cron: "0 * * * *", Delay: time.Second, Period: time.Second, Repeat: 9}, hourly},
	} {
		wantTimes(t, c.name, all(mustNew(t, c.m), base, len(hourly)), c.want)
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	const s, min, hour = time.Second, time.Minute, time.Hour
	for _, c := range []struct {
		name string
		m    message.Recurring
		want []time.Time // the first three of them
	}{
		{"a period without end", message.Recurring{Period: 10 * s}, after(10, 20, 30)},
		{"a period after a delay", message.Recurring{Delay: s, Period: 10 * s}, after(1, 11, 21)},
		{"a period from a time on", message.Recurring{From: base.Add(s), Period: 10 * s}, after(1, 11, 21)},
		{"a period from a time on that is over", message.Recurring{From: base.Add(-25 * s), Period: 10 * s}, after(5, 15, 25)},
		{"what is left of a series", message.Recurring{From: base.Add(-25 * s), Period: 10 * s, Repeat: 3}, after(5)},
		{"from its base", message.Recurring{From: base, Period: 10 * s, Repeat: 2}, after(10, 20)},
		{"a time", message.Recurring{From: base.Add(s), Delay: s}, after(2)},
		{"until, and then too", message.Recurring{Period: 10 * s, Until: base.Add(20 * s)}, after(10, 20)},
		{"cron", message.Recurring{Cron: "0 * * * *"}, after(3600, 7200, 10800)},
		{"cron that fires at its base", message.Recurring{Cron: "0 10 * * *"}, after(86400, 2*86400, 3*86400)},
		{"cron in a zone", message.Recurring{Cron: "0 12 * * *", Zone: "Europe/Berlin"}, after(3600, 25*3600, 49*3600)},
		{"cron with a delay of more than its time", message.Recurring{Cron: "30 * * * *", Delay: hour}, after(1800, 5400, 9000)},
		{"the delay does not count for From", message.Recurring{Cron: "0 * * * *", Delay: 10 * min, From: base.Add(65 * min)}, after(4200, 7800, 11400)},
		{"a series that has begun", message.Recurring{Cron: "50 9 * * *", Period: 4 * min, Repeat: 4}, after(120, 360, 23*3600+50*60)},
		{"series over each other", message.Recurring{Cron: "0 * * * *", Period: 40 * min, Repeat: 2}, after(20*60, 40*60, 60*60)},
		{"series that meet", message.Recurring{Cron: "0 * * * *", Period: 30 * min, Repeat: 10_000}, after(1800, 3600, 5400)},
		{"parts of a millisecond", message.Recurring{Delay: s + 1, Period: s - 1, Until: base.Add(3*s + 1500*time.Microsecond)}, after(1.001, 2.001, 3.001)},
		{"from a part of a millisecond", message.Recurring{From: base.Add(1), Period: s, Repeat: 1}, after(0.001, 1.001)},
		{"until a part of a millisecond", message.Recurring{Period: s, Until: base.Add(2*s - 1)}, after(1)},
	} {
		wantTimes(t, c.name, all(mustNew(t, c.m), base, 3), c.want)
	}
}

// What was asked before does not matter, and no time comes at the moment that is asked for.
func TestNextIsAfter(t *testing.T) {
	t.Parallel()
	r := mustNew(t, message.Recurring{Period: 10 * time.Second, Repeat: 2, Delay: time.Second})
	for asked, want := range map[time.Duration]float64{
		-time.Hour: 1, 0: 1, time.Second - 1: 1, time.Second: 11, time.Second + 1: 11, 11 * time.Second: 21,
	} {
		next, found := r.Next(base, base.Add(asked))
		if !found || !next.Equal(after(want)[0]) {
			t.Errorf("after %v comes %v, not %v", asked, next, want)
		}
	}
	if next, found := r.Next(base, base.Add(21*time.Second)); found {
		t.Errorf("after the last comes %v", next)
	}
}

// There is no year 10000.
func TestNextEnds(t *testing.T) {
	t.Parallel()
	last := time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)
	for _, m := range []message.Recurring{{Period: time.Second}, {Cron: "* * * * *"}, {Cron: "* * * * *", Delay: 10 * 365 * 24 * time.Hour}} {
		if next, found := mustNew(t, m).Next(base, last); found {
			t.Errorf("%+v: %v", m, next)
		}
	}
}

// However many firings have still something to send, no more than Repeat + 1 are looked at, and no
// more than there are.
func TestNextLooksAtFewFirings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m    message.Recurring
		most int
	}{
		{message.Recurring{Cron: "* * * * *", Period: 10 * 365 * 24 * time.Hour, Repeat: 10_000}, 10_001},
		{message.Recurring{Cron: "* * * * *", Period: 61 * time.Second, Repeat: 10_000}, 10_001},
		{message.Recurring{Cron: "* * * * *", Period: 100 * time.Millisecond, Repeat: 10_000}, 1000/60 + 2},
		{message.Recurring{Cron: "@daily", Period: time.Second, Repeat: 10_000}, 2},
		{message.Recurring{Cron: "@daily"}, 1},
	} {
		r := mustNew(t, c.m)
		asked, firings := 0, r.firings
		r.firings = func(after int64) (int64, bool) {
			asked++
			return firings(after)
		}
		if _, found := r.Next(base, base.Add(12*time.Hour+time.Second)); !found || asked > c.most {
			t.Errorf("%+v: %d firings, %v", c.m, asked, found)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for name, m := range map[string]message.Recurring{
		"period": {Period: time.Second}, "nightly": {Cron: "0 3 * * *", Zone: "Europe/Berlin"},
		"series": {Cron: "0 * * * *", Delay: time.Second, Period: time.Second, Repeat: 9},
		"worst":  {Cron: "* * * * *", Zone: "Europe/Berlin", Period: time.Hour, Repeat: 10_000},
	} {
		r := mustNew(b, m)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r.Next(base, base)
			}
		})
	}
}
