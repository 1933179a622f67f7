package cron

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// plan is an expression as it was drawn: what it means, field by field, beside its text. So it
// does not rest on Parse.
type plan struct {
	text                                    string
	minutes, hours, dates, months, weekdays []bool
	either, everyHour                       bool
}

// fires says whether the plan names a minute.
func (p *plan) fires(r minuteOfZone) bool {
	return p.minutes[r.minute] && p.hours[r.hour] && p.day(r)
}

func (p *plan) day(r minuteOfZone) bool {
	if !p.months[r.month] {
		return false
	}
	if p.either {
		return p.dates[r.date] || p.weekdays[r.weekday]
	}
	return p.dates[r.date] && p.weekdays[r.weekday]
}

// perYear is about how often it comes.
func (p *plan) perYear() int {
	n := 0
	day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 366 {
		if p.day(minuteOfZone{month: int(day.Month()), date: day.Day(), weekday: int(day.Weekday())}) {
			n++
		}
		day = day.AddDate(0, 0, 1)
	}
	return n * count(p.hours) * count(p.minutes)
}

func count(values []bool) int {
	n := 0
	for _, in := range values {
		if in {
			n++
		}
	}
	return n
}

// drawPlan draws an expression that comes most times a year at the most.
func drawPlan(random *rand.Rand, most int) *plan {
	for {
		p := &plan{}
		var texts [5]string
		texts[0], p.minutes = drawField(random, 0, 59, 2, "")
		texts[1], p.hours = drawField(random, 0, 23, 3, "")
		texts[2], p.dates = drawField(random, 1, 31, 5, "")
		texts[3], p.months = drawField(random, 1, 12, 6, monthNames)
		texts[4], p.weekdays = drawField(random, 0, 6, 5, weekdayNames)
		p.either = texts[2][0] != '*' && texts[4][0] != '*'
		p.everyHour = count(p.hours) == 24
		p.text = strings.Join(texts[:], " ")
		if p.perYear() <= most {
			return p
		}
	}
}

// eachMinute are the plans that come in each minute: one by real time, one that names hours.
func eachMinute() []*plan {
	all := func(first, last int) []bool {
		return append(make([]bool, first), slices.Repeat([]bool{true}, last-first+1)...)
	}
	real := plan{text: "* * * * *", minutes: all(0, 59), hours: all(0, 23), dates: all(1, 31), months: all(1, 12), weekdays: all(0, 6), everyHour: true}
	named := real
	named.text, named.hours, named.everyHour = "* 0-22 * * *", append(all(0, 22), false), false
	return []*plan{&real, &named}
}

// drawField draws a field, * with a chance of stars in ten.
func drawField(random *rand.Rand, first, last, stars int, names string) (string, []bool) {
	in := make([]bool, last+1)
	if random.IntN(10) < stars {
		step := 1
		text := "*"
		if random.IntN(4) == 0 {
			step = 1 + random.IntN(last-first+1)
			text = fmt.Sprintf("*/%d", step)
		}
		for value := first; value <= last; value += step {
			in[value] = true
		}
		return text, in
	}
	name := func(value int) string {
		if names != "" && random.IntN(3) == 0 {
			return strings.Fields(names)[value-first]
		}
		return fmt.Sprint(value)
	}
	var items []string
	for range 1 + random.IntN(3) {
		begin := first + random.IntN(last-first+1)
		end, step, text := begin, 1, name(begin)
		if random.IntN(3) == 0 {
			end = begin + random.IntN(last-begin+1)
			text += "-" + name(end)
			if random.IntN(2) == 0 {
				step = 1 + random.IntN(last-first+1)
				text += fmt.Sprintf("/%d", step)
			}
		}
		for value := begin; value <= end; value += step {
			in[value] = true
		}
		items = append(items, text)
	}
	return strings.Join(items, ","), slices.Clip(in)
}
