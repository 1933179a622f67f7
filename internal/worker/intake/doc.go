// Package intake decides how much a worker takes of a topic, and when.
//
// [Size] is how many messages a batch has: as many as are handled in some 10 ms. [Pace] is when a slot takes again whose
// batch was not full, and [Busy] when one looks again that another worker holds, and when that one is asked about it.
// [Handlers] is how many handlers of a topic may run at once, as package flow finds out. [Limit] is what the options of a
// topic and a person allow.
//
// Whether a handler may begin is decided in package gate, and which slot is next in package schedule. The package knows
// no Redis, and starts no goroutine.
package intake
