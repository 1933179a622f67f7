package plan

import (
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/message"
)

func TestBadInput(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	day := func(year int) time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		spoil               func(m *message.Recurring)
		field, value, limit string
	}{
		{func(m *message.Recurring) { m.Name = "" }, "Name", `"" (0 bytes)`, "1 to 200 bytes"},
		{func(m *message.Recurring) { m.Name = strings.Repeat("n", 201) }, "Name", `"` + strings.Repeat("n", 60) + `…" (201 bytes)`, "1 to 200 bytes"},
		{func(m *message.Recurring) { m.Name = "a\nb" }, "Name", `"a\nb"`, "valid UTF-8 without control characters"},
		{func(m *message.Recurring) { m.Name = "\xff" }, "Name", `"\xff"`, "valid UTF-8 without control characters"},
		{func(m *message.Recurring) { m.Content = "" }, "Content", "0 bytes long", "1 to 1000 bytes"},
		{func(m *message.Recurring) { m.Content = strings.Repeat("c", 1001) }, "Content", "1001 bytes long", "1 to 1000 bytes"},
		{func(m *message.Recurring) { m.Priority = 17 }, "Priority", "17", "0 in a topic of kind fixed-time, which has times"},

		{func(m *message.Recurring) { m.Delay = -1 }, "Delay", "-1ns", "at least 1ms and at most 10 years"},
		{func(m *message.Recurring) { m.Delay = 60 }, "Delay", "60ns", "at least 1ms and at most 10 years (did you mean 60 * time.Millisecond?)"},
		{func(m *message.Recurring) { m.Delay = 10*year + 1 }, "Delay", "87600h0m0.000000001s", "at least 1ms and at most 10 years"},
		{func(m *message.Recurring) { m.Period = time.Second }, "Repeat", "0", "at least 1 where Cron and Period are given (the Period is that of the sends of one firing)"},
		{func(m *message.Recurring) { m.Period = 100*time.Millisecond - 1 }, "Period", "99.999999ms", "at least 100ms and at most 10 years"},
		{func(m *message.Recurring) { m.Period = -time.Second }, "Period", "-1s", "at least 100ms and at most 10 years"},
		{func(m *message.Recurring) { m.Period = 10*year + 1 }, "Period", "87600h0m0.000000001s", "at least 100ms and at most 10 years"},
		{func(m *message.Recurring) { m.Repeat = 1 }, "Period", "0", "at least 100ms where Repeat is given"},
		{func(m *message.Recurring) { m.Repeat = -1 }, "Repeat", "-1", "0 to 10000"},
		{func(m *message.Recurring) { m.Period, m.Repeat = time.Second, 10_001 }, "Repeat", "10001", "0 to 10000"},
		{func(m *message.Recurring) { m.From = time.UnixMilli(1_700_000_000) }, "From", "1970-01-20T16:13:20Z", "in the year 2000 at the earliest, or the zero time"},
		{func(m *message.Recurring) { m.Until = day(10_000) }, "Until", "in the year 10000", "in the year 9999 at the latest"},
		{func(m *message.Recurring) { m.Missed = 2 }, "Missed", "Missed(2)", "MissedOnce or MissedSkip"},

		{func(m *message.Recurring) { m.Cron = "" }, "Zone", `"Europe/Berlin"`, "empty where there is no Cron"},
		{func(m *message.Recurring) { m.Cron, m.Zone = "", "" }, "Cron", `""`, "given, or else Period, Delay or From: nothing says when to send"},
		{func(m *message.Recurring) { m.Cron, m.Zone, m.Period, m.Repeat = "", "", time.Second, 1 }, "Delay", "0", "at least 1ms where neither Cron nor From says when to begin"},
		{func(m *message.Recurring) { m.Zone = "Mars/Base" }, "Zone", `"Mars/Base"`, `a time zone that this machine knows, such as "Europe/Berlin" or "UTC"`},
		{func(m *message.Recurring) { m.Zone = "Local" }, "Zone", `"Local"`, `a time zone that this machine knows, such as "Europe/Berlin" or "UTC"`},
		{func(m *message.Recurring) { m.Cron = "0 3" }, "Cron", `"0 3"`, "five fields: minute, hour, day of month, month and day of week; or @hourly, @daily, @weekly, @monthly or @yearly"},
		{func(m *message.Recurring) { m.Cron = "0 24 * * *" }, "Cron", `"0 24 * * *" with the hour "24"`, "0-23, *, a list such as 1,3, a range such as 1-3, or a step such as */2"},

		// What can never come.
		{func(m *message.Recurring) { m.Cron = "0 0 30 feb *" }, "Cron", `"0 0 30 feb *"`, "a time that comes: no month it names has such a day"},
		{func(m *message.Recurring) { m.From, m.Until = day(2027), day(2026) }, "Until", "2026-01-01T00:00:00Z", "later: nothing is left to send"},
		{func(m *message.Recurring) { m.Cron, m.From, m.Until = "0 0 29 2 *", day(2025), day(2028) }, "Until", "2028-01-01T00:00:00Z", "later: nothing is left to send"},
		{func(m *message.Recurring) {
			m.Cron, m.Zone, m.Delay, m.From, m.Until = "", "", year, day(2026), day(2026)
		}, "Until", "2026-01-01T00:00:00Z", "later: nothing is left to send"},
	} {
		m := message.Recurring{Name: "nightly", Content: "report", Cron: "0 3 * * *", Zone: "Europe/Berlin"}
		if _, err := New(topic, m, maxContent); err != nil {
			t.Fatal(err)
		}
		c.spoil(&m)
		_, err := New(topic, m, maxContent)
		wantRefusal(t, err, c.field, c.value, c.limit)
	}
}

func TestBadPriority(t *testing.T) {
	t.Parallel()
	m := report()
	m.Period = time.Second
	_, err := New(message.Topic{Name: "t", Kind: message.KindPriority}, m, maxContent)
	wantRefusal(t, err, "Priority", "0", "17 to 9007199254740991 (2^53 - 1)")
}

// The edges of what may be asked for.
func TestGoodInput(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * time.Hour
	for _, m := range []message.Recurring{
		{Period: 100 * time.Millisecond},
		{Delay: time.Millisecond, Period: 10 * year, Repeat: 10_000},
		{Cron: "@yearly", Delay: 10 * year, Until: base.AddDate(20, 0, 0)},
		{From: base, Missed: message.MissedSkip},
		{From: base, Until: base},
		{From: base, Delay: time.Second, Until: base.Add(time.Second)},
		{Cron: "0 0 29 2 *", From: base, Until: time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC)},
	} {
		mustNew(t, m)
	}
}

// What is over when it is set. That is no error of the rule: it was set before, perhaps.
func TestFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		m                   message.Recurring
		field, value, limit string
	}{
		{message.Recurring{Cron: "@daily", Until: base}, "Until", "2026-03-02T10:00:00Z", "later: nothing is left to send"},
		{message.Recurring{Period: time.Minute, Until: base.Add(time.Second)}, "Until", "2026-03-02T10:00:01Z", "later: nothing is left to send"},
		{message.Recurring{From: base}, "From", "2026-03-02T10:00:00Z", "later: nothing is left to send"},
		{message.Recurring{From: base.Add(-time.Hour), Period: time.Second, Repeat: 9}, "From", "2026-03-02T09:00:00Z", "later: nothing is left to send"},
	} {
		_, err := mustNew(t, c.m).First(base)
		wantRefusal(t, err, c.field, c.value, c.limit)
	}
	if first, err := mustNew(t, message.Recurring{Cron: "@daily"}).First(base); err != nil || !first.Equal(base.Add(14*time.Hour)) {
		t.Errorf("%v, %v", first, err)
	}
	_, err := mustNew(t, message.Recurring{Delay: time.Hour}).First(time.Date(9999, 12, 31, 23, 30, 0, 0, time.UTC))
	wantRefusal(t, err, "Delay", "1h0m0s", "shorter: nothing is sent before the year 10000")
}
