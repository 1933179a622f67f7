// Package wakeups is a worker's side of the topics' channels, so that no worker has to poll.
// An [Announcer] reports to other workers that a slot was left or that workers came or went,
// and asks a holder about its batch. [Ears] hear that, and the wake-ups that producers
// publish.
//
// A message that gets lost costs only time: what it announced is found by the safety look, see
// package lookout.
package wakeups
