package cron

import "time"

// A reading is what the clock of a zone shows, in seconds, as if that zone were UTC: the time
// that [time.Time.Unix] gives for the same date and time in UTC.
type reading = int64

const (
	minute = 60
	day    = 24 * 60 * minute

	lastYear = 9999 // what comes later never comes
)

// first is the first reading of the expression from least on.
func (e *Expression) first(least reading) (reading, bool) {
	t := time.Unix(least+minute-1, 0).UTC() // within the minute that is least or comes next
	year, month, date := t.Date()
	if e.months == 0 || year > lastYear {
		return 0, false
	}
	if e.months.has(int(month)) && e.datesOf(year, month).has(date) {
		if clock, found := e.timeOfDay(t.Hour(), t.Minute()); found {
			return midnight(year, month, date) + clock, true
		}
	}
	clock, _ := e.timeOfDay(0, 0)
	for date++; year <= lastYear; date = 1 { // in each month from date on
		if e.months.has(int(month)) {
			if date, found := e.datesOf(year, month).next(date); found {
				return midnight(year, month, date) + clock, true
			}
		}
		year, month = e.nextMonth(year, month)
	}
	return 0, false
}

// timeOfDay is the first time of a day from hour:min on, in seconds.
func (e *Expression) timeOfDay(hour, min int) (reading, bool) {
	if e.hours.has(hour) {
		if next, found := e.minutes.next(min); found {
			return timeOf(hour, next), true
		}
	}
	hour, found := e.hours.next(hour + 1)
	min, _ = e.minutes.next(0)
	return timeOf(hour, min), found
}

// datesOf is the set of a month's days.
func (e *Expression) datesOf(year int, month time.Month) set {
	first := int(time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).Weekday())
	week := (e.weekdays>>first | e.weekdays<<(7-first)) & span(0, 6) // bit 0 for the 1st
	weeks := (week | week<<7 | week<<14 | week<<21 | week<<28) << 1
	dates := e.days & weeks
	if e.eitherDay {
		dates = e.days | weeks
	}
	return dates & span(1, monthLength(year, month))
}

// nextMonth is the expression's next month after this one.
func (e *Expression) nextMonth(year int, month time.Month) (int, time.Month) {
	next, found := e.months.next(int(month) + 1)
	if !found {
		next, _ = e.months.next(1)
		year++
	}
	return year, time.Month(next)
}

func timeOf(hour, min int) reading { return reading(hour*60+min) * minute }

func midnight(year int, month time.Month, date int) reading {
	return time.Date(year, month, date, 0, 0, 0, 0, time.UTC).Unix()
}

func monthLength(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}
