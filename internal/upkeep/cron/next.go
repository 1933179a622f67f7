package cron

import "time"

// furthest is how far the clock of any zone is from UTC at most.
const furthest = 16 * 60 * minute

// Next is the first time of the expression after the given one, in the zone; false if there is
// none, because no year has such a day, or not before the year 10000. It does not depend on what
// came before. zone must not be nil.
func (e *Expression) Next(after time.Time, zone *time.Location) (time.Time, bool) {
	if after.Before(time.Time{}) {
		after = time.Time{}
	}
	if e.months == 0 || after.Year() > lastYear {
		return time.Time{}, false
	}
	next := e.nextNamed
	if e.everyHour {
		next = e.nextReal
	}
	at, found := next(after.Unix(), zone)
	if !found {
		return time.Time{}, false
	}
	return time.Unix(at, 0).In(zone), true
}

// nextNamed is for an expression that names hours: each reading comes when the clock first shows
// it, or a later one.
func (e *Expression) nextNamed(after int64, zone *time.Location) (int64, bool) {
	// What is more than the clock has ever shown has not come yet. It may have shown
	// more than now in the stretches before, if they are not too long ago.
	s := stretchAt(zone, after-2*furthest)
	least := reading(after) - furthest
	for ; s.end <= after; s = stretchAt(zone, s.end) {
		least = max(least, s.end+s.offset)
	}
	least = max(least, after+s.offset+1)

	next, found := e.first(least)
	if !found {
		return 0, false
	}
	for {
		if at := max(s.begin, next-s.offset); at < s.end {
			return at, true
		}
		s = stretchAt(zone, max(s.end, next-furthest)) // before that, no clock shows as much
	}
}

// nextReal is for an expression for every hour: a reading comes whenever the clock shows it.
func (e *Expression) nextReal(after int64, zone *time.Location) (int64, bool) {
	s := stretchAt(zone, after+1)
	least := s.begin + s.offset
	next, found := e.first(least)
	for found {
		if at := next - s.offset; at < s.end {
			return at, true
		}
		s = stretchAt(zone, s.end)
		// There is nothing between least and next, so look again only if the clock
		// begins with less now, or skips next.
		if begin := s.begin + s.offset; begin < least || begin > next {
			least = begin
			next, found = e.first(least)
		}
	}
	return 0, false
}
