// Package plan knows when a recurring message is sent. A [Rule] is one that was checked
// ([New]), or read as it is stored ([Read], [Rule.Text]). [Rule.Next] is the next of its times, and
// [Rule.Due] what is to be done when one of them has come, perhaps long ago.
//
//	firing        each time of Cron; without Cron one: From, or else base
//	times of one  firing + Delay + i × Period, for i = 0 … Repeat
//	times         those of all firings, each once: after base, from From to Until
//
// base is the moment the rule was set. It is kept beside the rule, for the rule of each start of a
// program is the same, and its text too.
//
//	Delay: 60 s                                      once, a minute after base
//	Delay: 60 s, Period: 10 s, Repeat: 5             six times, from a minute after base on
//	Cron: "0 * * * *", Period: 1 s, Repeat: 9        each hour ten times
//	Period: 10 s                                     from 10 s after base on, without end
//
// Times are whole milliseconds. What is shorter is rounded so that nothing is early, and nothing
// comes after Until.
//
// What the package does not do: it reads no clock and no Redis, and has no state. Whether a time has
// been sent is for the sorted set of plans to know.
package plan
