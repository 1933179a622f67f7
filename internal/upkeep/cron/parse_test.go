package cron

import (
	"errors"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// Expressions that mean the same.
func TestParse(t *testing.T) {
	t.Parallel()
	for text, same := range map[string]string{
		"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *",
		" @Daily\t":                 "0 0 * * *",
		"  0\t3  * * *\n":           "0 3 * * *",
		"00 03 01 01 *":             "0 3 1 1 *",
		"0-59 0-23 * 1-12 *":        "* * * * *",
		"*/1 */1 * */1 *":           "* * * * *",
		"*/15 * * * *":              "0,15,30,45 * * * *",
		"7-59/15 8-18/5 * * *":      "7,22,37,52 8,13,18 * * *",
		"*/60 */24 1-31/31 */12 *":  "0 0 1 1 *",
		"0,0,1,5-7,7 * * * *":       "0,1,5,6,7 * * * *",
		"0 0 * JAN,Mar-may,dec *":   "0 0 * 1,3,4,5,12 *",
		"0 0 * * Sun":               "0 0 * * 0",
		"0 0 * * 7":                 "0 0 * * 0",
		"0 0 * * 0,7":               "0 0 * * 0",
		"0 0 * * 5-7":               "0 0 * * 0,5,6",
		"0 0 * * fri-sun":           "0 0 * * 0,5,6",
		"0 0 * * sun-tue":           "0 0 * * 0,1,2",
		"0 0 * * 0-7":               "0 0 * * 0,1,2,3,4,5,6",
		"0 0 * * 1-7/2":             "0 0 * * 0,1,3,5",
		"0 0 29-31/2,30 2,4-6/2 * ": "0 0 29,30,31 2,4,6 *",
		"0 0 31 * *":                "0 0 31 1,3,5,7,8,10,12 *",
		"0 0 30 * *":                "0 0 30 1,3-12 *",
	} {
		got, err := Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		want, err := Parse(same)
		if err != nil {
			t.Errorf("%q: %v", same, err)
			continue
		}
		if *got != *want {
			t.Errorf("%q is %+v, and %q is %+v", text, *got, same, *want)
		}
	}
}

func TestWrong(t *testing.T) {
	t.Parallel()
	const values = " is %; it must be "
	whole := "five fields: minute, hour, day of month, month and day of week; or @hourly, @daily, @weekly, @monthly or @yearly"
	known := "@hourly, @daily, @weekly, @monthly or @yearly, or five fields: minute, hour, day of month, month and day of week"
	minutes := "0-59, *, a list such as 1,3, a range such as 1-3, or a step such as */2"
	days := "1-31, *, a list such as 2,4, a range such as 2-4, or a step such as */2"
	for _, c := range []struct{ text, field, value, limit string }{
		{"", "expression", ``, whole},
		{" \n", "expression", ` \n`, whole},
		{"* * * *", "expression", `* * * *`, whole},
		{"0 * * * * *", "expression", `0 * * * * *`, whole + " (no seconds: a period has them)"},
		{"0 * * * * * 2040", "expression", `0 * * * * * 2040`, whole},
		{"TZ=Europe/Berlin 0 3 * * *", "expression", `TZ=Europe/Berlin 0 3 * * *`, whole + " (the zone is given beside it)"},
		{"@every 5m", "expression", `@every 5m`, known + " (a period does what @every does)"},
		{"@reboot", "expression", `@reboot`, known},
		{"@daily 3", "expression", `@daily 3`, known},
		{"@ daily", "expression", `@ daily`, known},
		{"daily", "expression", `daily`, whole},
		{strings.Repeat("0", 61), "expression", strings.Repeat("0", 60) + `…`, whole},

		{"60 * * * *", "minute", `60`, minutes},
		{"0,75,80 * * * *", "minute", `75`, minutes},
		{"-1 * * * *", "minute", `-1`, minutes},
		{"+1 * * * *", "minute", `+1`, minutes},
		{"1- * * * *", "minute", `1-`, minutes},
		{"1-2-3 * * * *", "minute", `1-2-3`, minutes},
		{"1,,2 * * * *", "minute", ``, minutes},
		{"1, * * * *", "minute", ``, minutes},
		{"1.5 * * * *", "minute", `1.5`, minutes},
		{"*-5 * * * *", "minute", `*-5`, minutes},
		{"** * * * *", "minute", `**`, minutes},
		{"? * * * *", "minute", `?`, minutes},
		{"mon * * * *", "minute", `mon`, minutes},
		{"٣ * * * *", "minute", `٣`, minutes},
		{"99999999999999999999 * * * *", "minute", `99999999999999999999`, minutes},
		{"*/0 * * * *", "minute", `*/0`, "a step of 1-60 behind the /"},
		{"*/90 * * * *", "minute", `*/90`, "a step of 1-60 behind the /"},
		{"*/ * * * *", "minute", `*/`, "a step of 1-60 behind the /"},
		{"*/-5 * * * *", "minute", `*/-5`, "a step of 1-60 behind the /"},
		{"*/5/5 * * * *", "minute", `*/5/5`, "a step of 1-60 behind the /"},
		{"5/15 * * * *", "minute", `5/15`, "a range in front of the /, such as 5-59/15"},
		{"30-10 * * * *", "minute", `30-10`, "a range that does not end before it begins, such as 30-59,0-10"},

		{"0 24 * * *", "hour", `24`, strings.Replace(minutes, "59", "23", 1)},
		{"0 3am * * *", "hour", `3am`, strings.Replace(minutes, "59", "23", 1)},
		{"0 22-2 * * *", "hour", `22-2`, "a range that does not end before it begins, such as 22-23,0-2"},
		{"0 */25 * * *", "hour", `*/25`, "a step of 1-24 behind the /"},

		{"0 0 0 * *", "day of month", `0`, days},
		{"0 0 32 * *", "day of month", `32`, days},
		{"0 0 L * *", "day of month", `L`, days},
		{"0 0 15W * *", "day of month", `15W`, days},
		{"0 0 jan * *", "day of month", `jan`, days},
		{"0 0 */32 * *", "day of month", `*/32`, "a step of 1-31 behind the /"},

		{"0 0 1 0 *", "month", `0`, strings.Replace(days, "1-31", "1-12 or jan-dec", 1)},
		{"0 0 1 13 *", "month", `13`, strings.Replace(days, "1-31", "1-12 or jan-dec", 1)},
		{"0 0 1 january *", "month", `january`, strings.Replace(days, "1-31", "1-12 or jan-dec", 1)},
		{"0 0 1 an  *", "month", `an`, strings.Replace(days, "1-31", "1-12 or jan-dec", 1)},
		{"0 0 1 anf *", "month", `anf`, strings.Replace(days, "1-31", "1-12 or jan-dec", 1)},
		{"0 0 1 nov-feb *", "month", `nov-feb`, "a range that does not end before it begins, such as 11-12,1-2"},
		{"0 0 1 */13 *", "month", `*/13`, "a step of 1-12 behind the /"},

		{"0 0 * * 8", "day of week", `8`, strings.Replace(minutes, "0-59", "0-7 or sun-sat", 1)},
		{"0 0 * * 5#2", "day of week", `5#2`, strings.Replace(minutes, "0-59", "0-7 or sun-sat", 1)},
		{"0 0 * * monday", "day of week", `monday`, strings.Replace(minutes, "0-59", "0-7 or sun-sat", 1)},
		{"0 0 * * sat-mon", "day of week", `sat-mon`, "a range that does not end before it begins, such as 6-7,0-1"},
		{"0 0 * * */8", "day of week", `*/8`, "a step of 1-7 behind the /"},
	} {
		_, err := Parse(c.text)
		var wrong *Error
		if !errors.As(err, &wrong) {
			t.Errorf("%q gave %v", c.text, err)
			continue
		}
		want := c.field + strings.Replace(values, "%", `"`+c.value+`"`, 1) + c.limit
		if wrong.Field != c.field || err.Error() != want {
			t.Errorf("%q gave\n%s, not\n%s", c.text, err, want)
		}
	}
}

// Whatever a program passes in, Parse answers.
func TestAnyText(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	pieces := []string{"*", "/", "-", ",", " ", " ", " ", "0", "1", "7", "12", "59", "60", "sun", "Mon", "jan", "dec", "@", "daily", "\x00", "é", "?"}
	good := 0
	for range night.Times(200_000, 200_0000) {
		var text strings.Builder
		for range random.IntN(20) {
			text.WriteString(pieces[random.IntN(len(pieces))])
		}
		e, err := Parse(text.String())
		if (e == nil) == (err == nil) {
			t.Fatalf("%q gave %v and %v", text.String(), e, err)
		}
		if err == nil {
			good++
		}
	}
	if good == 0 {
		t.Error("all were wrong")
	}
}
