// Package policies has a worker hear of the limits that people set to its topics: the command
// rmq limit writes them. They are read at the start, then every period, and at once when a
// wake-up says that one has changed.
//
// A limit ends by itself. Redis says for how long it still holds, and from then on the worker
// counts by a clock of its own that is never set. So it also ends in time while Redis is away.
//
// The package does not know what a limit does: see package consumer.
package policies
