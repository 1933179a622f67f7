// Package gate decides whether a handler of a topic may begin in a worker, and reports outages of what the handlers need.
//
// A [Gate] stands before each message of a topic. It is open nearly always, and costs an atomic load then. While every
// message fails it lets one through at a time, or a probe now and then, as the topic's breaker has it; while the topic
// rests after a push-back, nothing. It informs the schedule, so that nothing is taken that may not begin.
//
// [Outages] are what the gates of a worker report, on their way to people.
//
// When a topic probes is decided in package breaker; how many handlers are of use, in package flow.
package gate
