package plan

import (
	"math/rand"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/message"
)

func TestDue(t *testing.T) {
	t.Parallel()
	const s, min, hour = time.Second, time.Minute, time.Hour
	hourly := message.Recurring{Cron: "0 * * * *"}
	each10s := message.Recurring{Period: 10 * s}
	series := message.Recurring{Delay: min, Period: 10 * s, Repeat: 2}
	none := -s // of base: no time
	for _, c := range []struct {
		name              string
		m                 message.Recurring
		missed            message.Missed
		planned, now      time.Duration // of base
		wantAt, wantsNext time.Duration
	}{
		{"not yet", hourly, message.MissedOnce, hour, hour - 1, none, hour},
		{"in time", hourly, message.MissedOnce, hour, hour, hour, 2 * hour},
		{"soon after", hourly, message.MissedOnce, hour, hour + min, hour, 2 * hour},
		{"a day later", hourly, message.MissedOnce, hour, 25*hour + min, hour, 26 * hour},
		{"at the next", hourly, message.MissedOnce, hour, 2 * hour, hour, 3 * hour},
		{"some later", each10s, message.MissedOnce, 10 * s, 35 * s, 10 * s, 40 * s},
		{"after the last", series, message.MissedOnce, min, hour, min, none},
		{"the last", series, message.MissedOnce, 80 * s, 80 * s, 80 * s, none},

		{"not yet", hourly, message.MissedSkip, hour, hour - 1, none, hour},
		{"in time", hourly, message.MissedSkip, hour, hour, hour, 2 * hour},
		{"a minute late", hourly, message.MissedSkip, hour, hour + min, hour, 2 * hour},
		{"more than a minute late", hourly, message.MissedSkip, hour, hour + min + time.Millisecond, none, 2 * hour},
		{"a day later", hourly, message.MissedSkip, hour, 25*hour + 2*min, none, 26 * hour},
		{"a day later, soon after another", hourly, message.MissedSkip, hour, 25*hour + min, 25 * hour, 26 * hour},
		{"some later", each10s, message.MissedSkip, 10 * s, 35 * s, 10 * s, 40 * s},
		{"many later", each10s, message.MissedSkip, 10 * s, 130 * s, 70 * s, 140 * s},
		{"many later, between two", each10s, message.MissedSkip, 10 * s, 135 * s, 80 * s, 140 * s},
		{"after the last", series, message.MissedSkip, min, hour, none, none},
		{"the last of them", series, message.MissedSkip, min, 140 * s, 80 * s, none},
	} {
		c.m.Missed = c.missed
		at, next := mustNew(t, c.m).Due(base, base.Add(c.planned), base.Add(c.now))
		for what, times := range map[string][2]time.Time{"sent": {at, base.Add(c.wantAt)}, "planned then": {next, base.Add(c.wantsNext)}} {
			got, want := times[0], times[1]
			if want.Before(base) {
				want = time.Time{}
			}
			if !got.Equal(want) {
				t.Errorf("%s, %v: %v is %s, not %v", c.name, c.missed, got, what, want)
			}
		}
	}
}

// Somebody looks now and then. What is sent is due, and never again; nothing is left out but what
// may be.
func TestDueAgainAndAgain(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewSource(sharetest.Seed(t)))
	for _, missed := range []message.Missed{message.MissedOnce, message.MissedSkip} {
		r := mustNew(t, message.Recurring{Cron: "*/7 * * * *", Delay: time.Second, Period: 25 * time.Second, Repeat: 4, Missed: missed})
		planned, _ := r.First(base)
		last := base
		for now := base; now.Before(base.AddDate(0, 0, 7)); now = now.Add(time.Duration(random.Intn(1+random.Intn(1_000_000))) * time.Millisecond) {
			at, next := r.Due(base, planned, now)
			due, _ := r.Next(base, last) // the first that is not made up for
			if missed == message.MissedSkip && now.Sub(due) > time.Minute {
				due, _ = r.Next(base, now.Add(-time.Minute-time.Millisecond))
			}
			switch {
			case due.After(now) && !at.IsZero(), !due.After(now) && !at.Equal(due):
				t.Fatalf("%v, %v: %v is sent, not %v", missed, now, at, due)
			case !next.After(now):
				t.Fatalf("%v, %v: %v is planned", missed, now, next)
			}
			if !at.IsZero() {
				last = now
			}
			planned = next
		}
	}
}
