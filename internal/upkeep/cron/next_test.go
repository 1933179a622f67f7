package cron

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// What comes in UTC, where the clock just runs.
func TestNext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expr, after, want string }{
		{"* * * * *", "2026-11-23 10:00:00", "2026-11-23 10:01, 2026-11-23 10:02"},
		{"* * * * *", "2026-11-23 09:59:59", "2026-11-23 10:00"},
		{"*/20 * * * *", "2026-12-31 23:30:00", "2026-12-31 23:40, 2027-01-01 00:00"},
		{"0 3 * * *", "2026-11-23 02:59:59", "2026-11-23 03:00, 2026-11-24 03:00"},
		{"0 3 * * *", "2026-11-23 03:00:00", "2026-11-24 03:00"},
		{"0 3 * * *", "2026-11-23 03:00:01", "2026-11-24 03:00"},
		{"30 8-10 * * 1-5", "2026-11-27 09:00:00", "2026-11-27 09:30, 2026-11-27 10:30, 2026-11-30 08:30"},
		{"15,45 22 * * *", "2026-02-28 22:20:00", "2026-02-28 22:45, 2026-03-01 22:15"},
		{"@yearly", "2026-11-23 00:00:00", "2027-01-01 00:00, 2028-01-01 00:00"},
		{"@weekly", "2026-11-23 00:00:00", "2026-11-29 00:00, 2026-12-06 00:00"},
		{"0 0 * * */7", "2026-11-23 00:00:00", "2026-11-29 00:00, 2026-12-06 00:00"},
		{"@monthly", "2026-11-23 00:00:00", "2026-12-01 00:00, 2027-01-01 00:00"},
		{"0 0 31 * *", "2026-01-31 00:00:00", "2026-03-31 00:00, 2026-05-31 00:00, 2026-07-31 00:00, 2026-08-31 00:00"},
		{"0 0 29 2 *", "2026-01-01 00:00:00", "2028-02-29 00:00, 2032-02-29 00:00"},
		{"0 0 29 2 *", "2096-03-01 00:00:00", "2104-02-29 00:00"}, // 2100 is no leap year
		// Either, if both are restricted.
		{"0 0 13 * fri", "2026-11-01 00:00:00", "2026-11-06 00:00, 2026-11-13 00:00, 2026-11-20 00:00, 2026-11-27 00:00, 2026-12-04 00:00, 2026-12-11 00:00, 2026-12-13 00:00"},
		{"0 0 31 2 mon", "2026-11-01 00:00:00", "2027-02-01 00:00, 2027-02-08 00:00"},
		{"0 0 1-31 * mon", "2026-11-23 00:00:00", "2026-11-24 00:00"},
		{"0 0 2 * 0-6", "2026-11-23 00:00:00", "2026-11-24 00:00"},
		// Both, if one begins with *.
		{"0 0 */10 * mon", "2026-01-01 00:00:00", "2026-05-11 00:00, 2026-06-01 00:00, 2026-08-31 00:00, 2026-09-21 00:00"},
		{"0 0 13 * */5", "2026-01-01 00:00:00", "2026-02-13 00:00, 2026-03-13 00:00, 2026-09-13 00:00, 2026-11-13 00:00"},
		{"0 0 */28 2 mon", "2026-01-01 00:00:00", "2027-02-01 00:00, 2038-02-01 00:00, 2044-02-01 00:00, 2044-02-29 00:00"},
		{"0 0 */30 * *", "2026-02-01 00:00:00", "2026-03-01 00:00, 2026-03-31 00:00, 2026-04-01 00:00"},
		// The first and the last there are.
		{"0 0 1 1 *", "9998-06-01 00:00:00", "9999-01-01 00:00"},
		{"0 0 1 1 *", "9999-01-01 00:00:00", ""},
		{"* * * * *", "9999-12-31 23:58:00", "9999-12-31 23:59"},
		{"* * * * *", "0001-01-01 00:00:00", "0001-01-01 00:01"},
	} {
		after, err := time.Parse(time.DateTime, c.after)
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.ReplaceAll(c.want+",", ",", ":00 +0000,"), ", ")
		want[len(want)-1] = strings.TrimSuffix(want[len(want)-1], ",")
		most := len(want)
		if c.want == "" {
			want, most = nil, 1
		}
		if strings.HasPrefix(c.want, "9999") {
			most++ // and no more
		}
		if got := following(mustParse(t, c.expr), after, time.UTC, most); !slices.Equal(got, want) {
			t.Errorf("%q after %s:\n%q, not\n%q", c.expr, c.after, got, want)
		}
	}
}

// What can never come is found without looking through the years.
func TestNever(t *testing.T) {
	t.Parallel()
	zone := mustLoad(t, "Europe/Berlin")
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, zone)
	for _, text := range []string{"0 0 30 2 *", "0 0 31 feb,apr,jun,sep,nov *", "* * 30,31 2 *", "*/5 * 31 4 */2", "0 0 30-31 2 *"} {
		e := mustParse(t, text)
		if next, found := e.Next(now, zone); found || !next.IsZero() {
			t.Errorf("%q comes at %v", text, next)
		}
		if e.months != 0 {
			t.Errorf("%q is looked for in months %b", text, e.months)
		}
	}
	if _, found := new(Expression).Next(now, zone); found {
		t.Error("the zero value comes")
	}
}

// Each gap of 29 February that is a certain day of the week ends.
func TestRarest(t *testing.T) {
	t.Parallel()
	for weekday := time.Sunday; weekday <= time.Saturday; weekday++ {
		e := mustParse(t, "0 12 */28 2 "+strings.ToLower(weekday.String()[:3]))
		e.days &^= span(1, 1)
		seen, last := 0, time.Date(1600, 1, 1, 0, 0, 0, 0, time.UTC)
		for next, _ := e.Next(last, time.UTC); next.Year() < 2000; next, _ = e.Next(last, time.UTC) {
			if next.Month() != 2 || next.Day() != 29 || next.Weekday() != weekday || next.Year()-last.Year() > 40 {
				t.Fatalf("%v comes after %v", next, last)
			}
			seen, last = seen+1, next
		}
		if seen < 13 || seen > 15 { // 97 leap years in 400 years
			t.Errorf("%v: %d times in 400 years", weekday, seen)
		}
	}
}

// Next rests on nothing but its arguments: not on parts of a second, nor on the zone that after is in.
func TestNextIsPure(t *testing.T) {
	t.Parallel()
	e, berlin, tokyo := mustParse(t, "0 3 * * *"), mustLoad(t, "Europe/Berlin"), mustLoad(t, "Asia/Tokyo")
	three := time.Date(2026, 11, 23, 3, 0, 0, 0, berlin)
	for after, want := range map[time.Time]time.Time{
		three.Add(-1):                             three,
		three.Add(-time.Second):                   three,
		three.Add(-time.Millisecond).In(tokyo):    three,
		three.UTC():                               three.AddDate(0, 0, 1),
		three.Add(1):                              three.AddDate(0, 0, 1),
		three.Add(time.Second - 1).In(tokyo):      three.AddDate(0, 0, 1),
		time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC):  time.Date(1, 1, 1, 3, 0, 0, 0, berlin),
		time.Date(-9, 1, 1, 0, 0, 0, 0, time.UTC): time.Date(1, 1, 1, 3, 0, 0, 0, berlin),
	} {
		got, found := e.Next(after, berlin)
		if !found || !got.Equal(want) || got.Location() != berlin {
			t.Errorf("after %v comes %v, not %v", after, got, want)
		}
	}
	if got, found := e.Next(time.Date(123456, 1, 1, 0, 0, 0, 0, berlin), berlin); found {
		t.Errorf("comes in %v", got)
	}
}
