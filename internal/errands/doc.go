// Package errands spreads periodic work over time ([Timetable]), and asks each server for
// much in one round trip ([Lines], and [Each] for a start). It does not know what is asked.
package errands
