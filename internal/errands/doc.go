// Package errands has what a worker asks of servers beside its turns: when it is due for
// each topic ([Timetable]), and how it waits for each server ([Lines]).
package errands
