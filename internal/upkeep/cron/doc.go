// Package cron reads cron expressions ([Parse]), and finds the next time that one of them says
// in a time zone ([Expression.Next]).
//
//	┌──────── minute        0-59
//	│ ┌────── hour          0-23
//	│ │ ┌──── day of month  1-31
//	│ │ │ ┌── month         1-12 or jan-dec
//	│ │ │ │ ┌ day of week   0-7 or sun-sat; 0 and 7 are Sunday
//	0 3 * * *
//
// A field is * for every value, a value, a range such as 1-5, or a list of these such as 1-5,10.
// A step behind * or a range takes every so many of its values: */15, 8-18/2. Upper and lower
// case are the same. Instead of the five fields there may be a name:
//
//	@hourly   0 * * * *
//	@daily    0 0 * * *
//	@weekly   0 0 * * 0
//	@monthly  0 0 1 * *
//	@yearly   0 0 1 1 *
//
// If both day of month and day of week are restricted, a day counts if either fits, as in
// Debian's cron: 0 0 13 * fri is each 13th and each Friday. As there, a field that begins with *
// does not restrict in this sense, even with a step, and then both must fit.
//
// # When the clocks change
//
// A time of an expression that names hours comes once, whatever the clock does: it comes when
// the clock of the zone first shows it, or anything later. So a time that is left out comes at
// the end of the gap, one that the clock shows twice comes the first time, and several times
// that fall together come once. In Europe/Berlin, 30 2 * * * comes
//
//	2026-03-29 03:00 +0200   the clock went from 02:00 to 03:00
//	2026-10-25 02:30 +0200   the first of two; not again at 02:30 +0100
//
// It does not matter how long the gap is: in Pacific/Apia, which had no 30 December 2011, what
// was due at that day's noon comes at the beginning of the next.
//
// An expression for every hour goes by real time instead: it comes whenever the clock shows its
// minute, in an hour that comes twice both times, in one that is left out never. So each quarter
// of an hour stays one. Every hour is * or anything that means it, such as 0-23; */2 names hours.
//
// In Debian's cron */2 goes by real time, too, and so does what begins with * in the minutes.
// There, */15 2 * * * leaves out one day in spring.
//
// What the package does not do: it knows no seconds, years, or last days of a month. It does not
// load time zones, reads no clock and has no state. Changed rules of a zone count as soon as the
// caller's [time.Location] has them.
package cron
