package plan

import (
	"math/rand"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/message"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Since{
		"1772445600000 {}":   {Base: base},
		"1772445600000+2 {}": {Base: base, Changes: 2},
	} {
		since, rule, ok := Split(text)
		if !ok || since.Compare(want) != 0 || rule != "{}" || since.String()+" {}" != text {
			t.Errorf("%q: %v, %q, %v", text, since, rule, ok)
		}
	}
	for _, text := range []string{"", " {}", "x {}", "1+ {}", "1+x {}", "1+-1 {}"} {
		if _, _, ok := Split(text); ok {
			t.Errorf("%q is read", text)
		}
	}
	if (Since{Base: base, Changes: 3}).Compare(Since{Base: base.Add(1)}) >= 0 {
		t.Error("the larger base is the later one")
	}
}

// What takes the place of a rule, and where it goes on.
func TestFollow(t *testing.T) {
	t.Parallel()
	const s, hour = time.Second, time.Hour
	hourly := message.Recurring{Cron: "0 * * * *"}
	daily := message.Recurring{Cron: "0 15 * * *"}
	each := func(period time.Duration) message.Recurring { return message.Recurring{Period: period} }
	later := message.Recurring{Delay: hour, Period: 10 * s, Repeat: 9}
	with := func(m message.Recurring, change func(*message.Recurring)) message.Recurring { change(&m); return m }
	for _, c := range []struct {
		name      string
		old, r    message.Recurring
		changes   int           // of the old one
		next, now time.Duration // of base, by which the old one was set
		wantSince Since
		wantFirst time.Duration
	}{
		{"the slot alone", each(10 * s), with(each(10*s), func(m *message.Recurring) { m.SlotBasis = "s" }), 0, 30 * s, 22 * s, Since{base, 1}, 30 * s},
		{"and again", each(10 * s), with(each(10*s), func(m *message.Recurring) { m.Missed = message.MissedSkip }), 4, 30 * s, 22 * s, Since{base, 5}, 30 * s},
		{"before the first", later, with(later, func(m *message.Recurring) { m.Until = base.Add(2 * hour) }), 0, hour, 22 * s, Since{base, 1}, hour},
		{"within a series", later, with(later, func(m *message.Recurring) { m.SlotBasis = "s" }), 0, hour + 50*s, hour + 45*s, Since{base, 1}, hour + 50*s},
		{"at its end", later, with(later, func(m *message.Recurring) { m.SlotBasis = "s" }), 0, 0, 5 * hour, Since{Base: base.Add(5 * hour)}, 6 * hour},
		{"a cron with a time that is due", hourly, with(hourly, func(m *message.Recurring) { m.SlotBasis = "s" }), 0, 3 * hour, 5 * hour, Since{base, 1}, 3 * hour},

		{"another period", each(10 * s), each(15 * s), 0, 30 * s, 22 * s, Since{Base: base.Add(20 * s)}, 35 * s},
		{"a shorter one, which has passed", each(hour), each(10 * s), 0, 3 * hour, 2*hour + 60*s, Since{Base: base.Add(2 * hour)}, 2*hour + 10*s},
		{"before the first", each(10 * s), each(15 * s), 0, 10 * s, 4 * s, Since{base, 1}, 15 * s},
		{"with a delay", each(10 * s), message.Recurring{Delay: 3 * s, Period: 15 * s}, 0, 30 * s, 22 * s, Since{Base: base.Add(17 * s)}, 35 * s},
		{"with a delay that is as long as all before", each(10 * s), message.Recurring{Delay: 20 * s, Period: 15 * s}, 0, 30 * s, 22 * s, Since{base, 1}, 35 * s},
		{"with a delay that is longer", each(10 * s), message.Recurring{Delay: 21 * s, Period: 15 * s}, 0, 30 * s, 22 * s, Since{Base: base.Add(22 * s)}, 43 * s},

		{"another cron, one change", daily, hourly, 0, 5 * hour, 90 * time.Minute, Since{base.Add(90 * time.Minute), 1}, 2 * hour},
		{"another cron, after others, nothing sent", daily, hourly, 1, 5 * hour, 90 * time.Minute, Since{base, 2}, hour},
		{"another cron, something sent", hourly, daily, 1, 2 * hour, 90 * time.Minute, Since{Base: base.Add(90 * time.Minute)}, 5 * hour},
		{"a cron in the place of a period", each(hour), hourly, 0, 2 * hour, 90 * time.Minute, Since{Base: base.Add(90 * time.Minute)}, 2 * hour},
		{"set by a clock ahead", daily, hourly, 0, 5 * hour, -hour, Since{base.Add(time.Millisecond), 1}, hour},
	} {
		old := Held{Rule: mustNew(t, c.old), Since: Since{base, c.changes}}
		if c.next > 0 {
			old.Next = base.Add(c.next)
		}
		since, first, err := mustNew(t, c.r).Follow(old, base.Add(c.now))
		if err != nil || since.Compare(c.wantSince) != 0 || !first.Equal(base.Add(c.wantFirst)) {
			t.Errorf("%s: since %v, first at %v, %v; not %v, %v", c.name, since, first, err, c.wantSince, base.Add(c.wantFirst))
		}
		if since.Compare(old.Since) <= 0 {
			t.Errorf("%s: %v is not later than %v", c.name, since, old.Since)
		}
	}
	unreadable := Held{Since: Since{base, 3}, Next: base.Add(hour)}
	if since, first, err := mustNew(t, hourly).Follow(unreadable, base.Add(90*time.Minute)); err != nil || since.Compare(Since{Base: base.Add(90 * time.Minute)}) != 0 || !first.Equal(base.Add(2*hour)) || !unreadable.Sent() {
		t.Errorf("after one that cannot be read: %v, %v, %v", since, first, err)
	}
	over := mustNew(t, with(hourly, func(m *message.Recurring) { m.Until = base.Add(hour) }))
	_, _, err := over.Follow(Held{Rule: mustNew(t, hourly), Since: Since{Base: base}, Next: base.Add(2 * hour)}, base.Add(90*time.Minute))
	wantRefusal(t, err, "Until", "2026-03-02T11:00:00Z", "later: nothing is left to send")
}

// Two programs set two rules in turn, as often as they like. The plan sends at least as often as the
// rarer of the two: exactly, where both are plain periods; else within two changes more.
func TestRulesInTurn(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewSource(sharetest.Seed(t)))
	for range 2000 {
		var rules [2]*Rule
		var rarer time.Duration
		plain := random.Intn(2) == 0
		for i := range rules {
			period := time.Duration(1+random.Intn(20)) * time.Minute
			m := message.Recurring{Period: period}
			if !plain && (i == 0 || random.Intn(2) == 0) {
				minutes := []string{"* * * * *", "*/2 * * * *", "*/3 * * * *", "*/5 * * * *", "*/15 * * * *"}
				k := random.Intn(len(minutes))
				m, period = message.Recurring{Cron: minutes[k]}, []time.Duration{1, 2, 3, 5, 15}[k]*time.Minute
			}
			rules[i], rarer = mustNew(t, m), max(rarer, period)
		}
		change := time.Duration(1+random.Intn(10*60)) * time.Second
		bound := rarer
		if !plain {
			bound += 2 * change
		}
		now := base.Add(time.Duration(random.Intn(3600)) * time.Second)
		held := Held{Rule: rules[0], Since: Since{Base: now}}
		held.Next, _ = held.Rule.First(now)
		last, sent := now, 0
		for n := 1; n < 60; n++ {
			now = now.Add(change)
			for !held.Next.After(now) { // a worker sends it in time
				if gap := held.Next.Sub(last); gap > bound {
					t.Fatalf("%+v and %+v in turn each %v: nothing for %v", rules[0].message, rules[1].message, change, gap)
				}
				last = held.Next
				sent++
				_, held.Next = held.Rule.Due(held.Base, held.Next, held.Next)
			}
			r := rules[n%2]
			since, first, err := r.Follow(held, now)
			if err != nil {
				t.Fatal(err)
			}
			if first.Before(now) { // it is sent now
				first = now
			}
			held = Held{Rule: r, Since: since, Next: first}
		}
		if gap := now.Sub(last); gap > bound || sent == 0 && now.Sub(base) > time.Hour+bound {
			t.Fatalf("%+v and %+v in turn each %v: %d sent, nothing for %v", rules[0].message, rules[1].message, change, sent, gap)
		}
	}
}
