// Package wakeups is what workers and producers publish on the topics' channels, so that
// nobody has to poll: a worker publishes by an [Announcer], and hears by [Ears].
//
// A wake-up may get lost. What it announced is found by the safety look: see package lookout.
package wakeups
