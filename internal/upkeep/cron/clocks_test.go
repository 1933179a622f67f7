package cron

import (
	"slices"
	"testing"
	"time"
)

// What comes around changes of the clock that really were, or will be by the rules of 2026.
func TestClocksThatChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		zone, expr, after string
		want              []string
	}{
		// Forward by an hour at 02:00, back at 03:00.
		{"Europe/Berlin", "30 2 * * *", "2026-03-27 12:00", []string{"2026-03-28 02:30:00 +0100", "2026-03-29 03:00:00 +0200", "2026-03-30 02:30:00 +0200"}},
		{"Europe/Berlin", "0 2 * * *", "2026-03-28 12:00", []string{"2026-03-29 03:00:00 +0200", "2026-03-30 02:00:00 +0200"}},
		{"Europe/Berlin", "0,15,30 1-3 * * *", "2026-03-29 01:15", []string{"2026-03-29 01:30:00 +0100", "2026-03-29 03:00:00 +0200", "2026-03-29 03:15:00 +0200"}},
		{"Europe/Berlin", "*/15 2 * * *", "2026-03-28 12:00", []string{"2026-03-29 03:00:00 +0200", "2026-03-30 02:00:00 +0200"}},
		{"Europe/Berlin", "15 2,3 * * *", "2026-03-28 12:00", []string{"2026-03-29 03:00:00 +0200", "2026-03-29 03:15:00 +0200", "2026-03-30 02:15:00 +0200"}},
		{"Europe/Berlin", "0 */2 * * *", "2026-03-29 00:00", []string{"2026-03-29 03:00:00 +0200", "2026-03-29 04:00:00 +0200"}},
		{"Europe/Berlin", "30 2 29 3 *", "2026-03-01 00:00", []string{"2026-03-29 03:00:00 +0200", "2027-03-29 02:30:00 +0200"}},
		{"Europe/Berlin", "*/20 * * * *", "2026-03-29 01:30", []string{"2026-03-29 01:40:00 +0100", "2026-03-29 03:00:00 +0200", "2026-03-29 03:20:00 +0200"}},
		{"Europe/Berlin", "30 0-23 * * *", "2026-03-29 01:00", []string{"2026-03-29 01:30:00 +0100", "2026-03-29 03:30:00 +0200"}},
		{"Europe/Berlin", "30 2 * * *", "2026-10-24 12:00", []string{"2026-10-25 02:30:00 +0200", "2026-10-26 02:30:00 +0100"}},
		{"Europe/Berlin", "0,59 2,3 * * *", "2026-10-25 01:00", []string{"2026-10-25 02:00:00 +0200", "2026-10-25 02:59:00 +0200", "2026-10-25 03:00:00 +0100"}},
		{"Europe/Berlin", "*/30 2 * * *", "2026-10-25 00:00", []string{"2026-10-25 02:00:00 +0200", "2026-10-25 02:30:00 +0200", "2026-10-26 02:00:00 +0100"}},
		{"Europe/Berlin", "*/30 * * * *", "2026-10-25 01:30", []string{"2026-10-25 02:00:00 +0200", "2026-10-25 02:30:00 +0200", "2026-10-25 02:00:00 +0100", "2026-10-25 02:30:00 +0100", "2026-10-25 03:00:00 +0100"}},
		{"America/New_York", "30 2 * * *", "2026-03-07 12:00", []string{"2026-03-08 03:00:00 -0400", "2026-03-09 02:30:00 -0400"}},
		{"America/New_York", "30 1 * * *", "2026-10-31 12:00", []string{"2026-11-01 01:30:00 -0400", "2026-11-02 01:30:00 -0500"}},
		{"America/New_York", "30 * * * *", "2026-11-01 00:30", []string{"2026-11-01 01:30:00 -0400", "2026-11-01 01:30:00 -0500", "2026-11-01 02:30:00 -0500"}},
		// Summer time is the standard there, and winter time the exception.
		{"Europe/Dublin", "30 1 * * *", "2026-03-28 12:00", []string{"2026-03-29 02:00:00 +0100", "2026-03-30 01:30:00 +0100"}},
		{"Europe/Dublin", "30 1 * * *", "2026-10-24 12:00", []string{"2026-10-25 01:30:00 +0100", "2026-10-26 01:30:00 +0000"}},
		// By half an hour.
		{"Australia/Lord_Howe", "15 2 * * *", "2026-10-03 12:00", []string{"2026-10-04 02:30:00 +1100", "2026-10-05 02:15:00 +1100"}},
		{"Australia/Lord_Howe", "45 2 * * *", "2026-10-03 12:00", []string{"2026-10-04 02:45:00 +1100"}},
		{"Australia/Lord_Howe", "*/15 * * * *", "2026-10-04 01:40", []string{"2026-10-04 01:45:00 +1030", "2026-10-04 02:30:00 +1100"}},
		{"Australia/Lord_Howe", "45 1 * * *", "2026-04-04 12:00", []string{"2026-04-05 01:45:00 +1100", "2026-04-06 01:45:00 +1030"}},
		{"Australia/Lord_Howe", "*/15 * * * *", "2026-04-05 01:20", []string{"2026-04-05 01:30:00 +1100", "2026-04-05 01:45:00 +1100", "2026-04-05 01:30:00 +1030", "2026-04-05 01:45:00 +1030", "2026-04-05 02:00:00 +1030"}},
		// By two hours.
		{"Antarctica/Troll", "30 1,2 * * *", "2026-03-28 12:00", []string{"2026-03-29 03:00:00 +0200", "2026-03-30 01:30:00 +0200"}},
		{"Antarctica/Troll", "0 * * * *", "2026-03-29 00:00", []string{"2026-03-29 03:00:00 +0200", "2026-03-29 04:00:00 +0200"}},
		{"Antarctica/Troll", "30 1,2 * * *", "2026-10-24 12:00", []string{"2026-10-25 01:30:00 +0200", "2026-10-25 02:30:00 +0200", "2026-10-26 01:30:00 +0000"}},
		// Once, by a quarter of an hour, from a day to the next.
		{"Asia/Kathmandu", "10 0 1 1 *", "1985-12-31 00:00", []string{"1986-01-01 00:15:00 +0545", "1987-01-01 00:10:00 +0545"}},
		{"Asia/Kathmandu", "*/5 * * * *", "1985-12-31 23:50", []string{"1985-12-31 23:55:00 +0530", "1986-01-01 00:15:00 +0545"}},
		// At midnight: days that begin at 01:00, and days whose last hour comes twice.
		{"America/Sao_Paulo", "@daily", "2018-11-03 00:00", []string{"2018-11-04 01:00:00 -0200", "2018-11-05 00:00:00 -0200"}},
		{"America/Sao_Paulo", "30 0 4 11 *", "2018-11-01 00:00", []string{"2018-11-04 01:00:00 -0200", "2019-11-04 00:30:00 -0300"}},
		{"America/Sao_Paulo", "@daily", "2018-02-17 00:00", []string{"2018-02-18 00:00:00 -0300", "2018-02-19 00:00:00 -0300"}},
		{"America/Sao_Paulo", "30 23 * * sat", "2018-02-17 00:00", []string{"2018-02-17 23:30:00 -0200", "2018-02-24 23:30:00 -0300"}},
		{"America/Sao_Paulo", "30 * * * *", "2018-02-17 22:30", []string{"2018-02-17 23:30:00 -0200", "2018-02-17 23:30:00 -0300", "2018-02-18 00:30:00 -0300"}},
		{"America/Sao_Paulo", "@daily", "2019-11-02 00:00", []string{"2019-11-03 00:00:00 -0300"}}, // no more summer time
		// A minute past midnight: back into the day before, and the new day began twice.
		{"America/St_Johns", "@daily", "2010-11-06 00:00", []string{"2010-11-07 00:00:00 -0230", "2010-11-08 00:00:00 -0330"}},
		{"America/St_Johns", "0 * * * *", "2010-11-06 23:00", []string{"2010-11-07 00:00:00 -0230", "2010-11-07 00:00:00 -0330"}},
		{"America/St_Johns", "0,1 0 * * *", "2011-03-12 12:00", []string{"2011-03-13 00:00:00 -0330", "2011-03-13 01:01:00 -0230"}},
		// Back for Ramadan, forward after it.
		{"Africa/Casablanca", "30 2 * * *", "2023-03-18 12:00", []string{"2023-03-19 02:30:00 +0100", "2023-03-20 02:30:00 +0000"}},
		{"Africa/Casablanca", "30 2 * * *", "2023-04-22 12:00", []string{"2023-04-23 03:00:00 +0100", "2023-04-24 02:30:00 +0100"}},
		// On other days each year.
		{"Asia/Gaza", "30 2 * * *", "2023-04-28 12:00", []string{"2023-04-29 03:00:00 +0300", "2023-04-30 02:30:00 +0300"}},
		{"Asia/Gaza", "30 1 * * *", "2023-10-27 12:00", []string{"2023-10-28 01:30:00 +0300", "2023-10-29 01:30:00 +0200"}},
		{"Asia/Gaza", "0 0 * * *", "2011-03-31 12:00", []string{"2011-04-01 00:00:00 +0200", "2011-04-02 00:00:00 +0300"}},
		// A day that never was, for the line of dates was moved.
		{"Pacific/Apia", "0 12 * * *", "2011-12-29 00:00", []string{"2011-12-29 12:00:00 -1000", "2011-12-31 00:00:00 +1400", "2011-12-31 12:00:00 +1400"}},
		{"Pacific/Apia", "0 12 30 12 *", "2011-12-01 00:00", []string{"2011-12-31 00:00:00 +1400", "2012-12-30 12:00:00 +1400"}},
		{"Pacific/Apia", "0 12 * * fri", "2011-12-29 00:00", []string{"2011-12-31 00:00:00 +1400", "2012-01-06 12:00:00 +1400"}},
		{"Pacific/Apia", "0 * 30 12 *", "2011-12-01 00:00", []string{"2012-12-30 00:00:00 +1400"}},
		{"Pacific/Apia", "0 */6 * * *", "2011-12-29 17:00", []string{"2011-12-29 18:00:00 -1000", "2011-12-31 00:00:00 +1400", "2011-12-31 06:00:00 +1400"}},
		{"Pacific/Kwajalein", "0 12 * * *", "1993-08-19 12:00", []string{"1993-08-20 12:00:00 -1200", "1993-08-22 00:00:00 +1200", "1993-08-22 12:00:00 +1200"}},
		// A whole day twice, and by seconds: a clock of the sun's time.
		{"America/Juneau", "0 12 * * *", "1867-10-17 12:00", []string{"1867-10-18 12:00:00 +1502", "1867-10-19 12:00:00 +1502", "1867-10-20 12:00:00 -0857"}},
		{"Africa/Monrovia", "40 0 * * *", "1972-01-06 12:00", []string{"1972-01-07 00:44:30 +0000", "1972-01-08 00:40:00 +0000"}},
	} {
		zone := mustLoad(t, c.zone)
		after, err := time.ParseInLocation("2006-01-02 15:04", c.after, zone)
		if err != nil {
			t.Fatal(err)
		}
		if got := following(mustParse(t, c.expr), after, zone, len(c.want)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q after %s:\n%q, not\n%q", c.zone, c.expr, c.after, got, c.want)
		}
	}
}

// In the hour that comes twice, what has come is not forgotten, and is not waited for either.
func TestBetweenTheTwo(t *testing.T) {
	t.Parallel()
	zone := mustLoad(t, "Europe/Berlin")
	second := time.Date(2026, 10, 25, 1, 30, 0, 0, time.UTC) // 02:30 for the second time
	tomorrow := "2026-10-26 02:30:00 +0100"
	for _, after := range []time.Time{second.Add(-time.Hour), second.Add(-time.Second), second, second.Add(time.Second)} {
		if got := following(mustParse(t, "30 2 * * *"), after, zone, 1)[0]; got != tomorrow {
			t.Errorf("after %v comes %s", after.In(zone), got)
		}
	}
	for text, want := range map[string]string{
		"59 2 * * *": "2026-10-26 02:59:00 +0100",
		"30 * * * *": "2026-10-25 02:30:00 +0100",
		"0 3 * * *":  "2026-10-25 03:00:00 +0100", // the first that the clock has not shown
	} {
		if got := following(mustParse(t, text), second.Add(-time.Second), zone, 1)[0]; got != want {
			t.Errorf("%q comes at %s, not %s", text, got, want)
		}
	}
}

// Where zones follow a rule, the standard library cuts time at each new year, and in a leap year
// a day too early.
func TestLastDayOfALeapYear(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Berlin", "Australia/Lord_Howe", "America/New_York"} {
		zone := mustLoad(t, name)
		for _, text := range []string{"0 12 * * *", "0 * * * *"} {
			e := mustParse(t, text)
			for after := time.Date(2044, 12, 29, 0, 0, 0, 0, zone); after.Year() == 2044 || after.YearDay() < 3; {
				next, found := e.Next(after, zone)
				if gap := next.Sub(after); !found || gap > 24*time.Hour || text == "0 * * * *" && gap != time.Hour {
					t.Fatalf("%s: %q after %v comes %v", name, text, after, next)
				}
				after = next
			}
		}
	}
	s := stretchAt(mustLoad(t, "Europe/Berlin"), time.Date(2044, 12, 31, 12, 0, 0, 0, time.UTC).Unix())
	if end := time.Unix(s.end, 0).UTC(); !end.Equal(time.Date(2045, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("the stretch of the last day ends at %v", end)
	}
}
