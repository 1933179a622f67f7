package cron

import (
	"strings"
	"time"
)

// Expression is an expression that was read. It never changes. Its zero value never comes.
type Expression struct {
	minutes, hours, days, months, weekdays set

	eitherDay bool // a day of month or a day of week is enough
	everyHour bool // goes by real time
}

var names = map[string]string{
	"@hourly":  "0 * * * *",
	"@daily":   "0 0 * * *",
	"@weekly":  "0 0 * * 0",
	"@monthly": "0 0 1 * *",
	"@yearly":  "0 0 1 1 *",
}

// Parse reads an expression. If it is wrong, the error is an [*Error]. An expression that says
// days which no month has is not wrong, but never comes.
func Parse(text string) (*Expression, error) {
	if err := checkWhole(text); err != nil {
		return nil, err
	}
	words := strings.Fields(text)
	if strings.HasPrefix(words[0], "@") {
		words = strings.Fields(names[strings.ToLower(words[0])])
	}
	var sets [len(fields)]set
	for i := range fields {
		var err *Error
		if sets[i], err = fields[i].parse(words[i]); err != nil {
			return nil, err
		}
	}
	e := &Expression{
		minutes: sets[0], hours: sets[1], days: sets[2], months: sets[3], weekdays: sets[4],
		eitherDay: !strings.HasPrefix(words[2], "*") && !strings.HasPrefix(words[4], "*"),
	}
	e.everyHour = e.hours == span(0, 23)
	e.dropMonths()
	return e, nil
}

// checkWhole looks whether there are five fields or a name.
func checkWhole(text string) error {
	const known = "@hourly, @daily, @weekly, @monthly or @yearly"
	const five = "five fields: minute, hour, day of month, month and day of week"
	words := strings.Fields(text)
	switch {
	case len(words) > 0 && strings.EqualFold(words[0], "@every"):
		return wrong("expression", text, known+", or "+five+" (a period does what @every does)")
	case len(words) == len(fields)+1 && strings.Contains(words[0], "TZ="):
		return wrong("expression", text, five+"; or "+known+" (the zone is given beside it)")
	case len(words) == len(fields)+1:
		return wrong("expression", text, five+"; or "+known+" (no seconds: a period has them)")
	case len(words) > 0 && strings.HasPrefix(words[0], "@"):
		if len(words) > 1 || names[strings.ToLower(words[0])] == "" {
			return wrong("expression", text, known+", or "+five)
		}
	case len(words) != len(fields):
		return wrong("expression", text, five+"; or "+known)
	}
	return nil
}

// dropMonths drops the months that have none of the days. In what is left there is a time
// again and again, at the latest after forty years: a 29 February that is, say, a Monday.
func (e *Expression) dropMonths() {
	if e.eitherDay { // each month has each day of the week
		return
	}
	const leapYear = 2000
	for month := time.January; month <= time.December; month++ {
		if e.days&span(1, monthLength(leapYear, month)) == 0 {
			e.months &^= span(int(month), int(month))
		}
	}
}
