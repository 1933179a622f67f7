// Package periodic spreads periodic work over time ([Timetable]), and asks each server for
// much in one round trip ([Lines], and [Each] for a start). It does not know what is asked.
//
// # A little at a time, and much in one round trip
//
// The periodic work for each topic (its list of members, its definition, its safety look) is spread over the period by
// an periodic.Timetable, also after all topics were due together. Otherwise 10,000 topics would do it all in the same
// moment, and the turns would wait behind. Topics that are due in the same tenth of a second go together: periodic.Lines
// keeps a line for each server, and one goroutine asks for what is in it. A command of its own for each topic, and
// goroutines for each, cost 20 % of a core with 10,000 idle topics; now it is about 2 %. A server that hangs holds up
// its own line only. The questions of a newcomer before it joins wait in a separate line, because they may be about
// slots on all servers.
package periodic
