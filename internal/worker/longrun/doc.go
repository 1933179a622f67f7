// Package longrun shows people, by way of Redis, which messages are handled for long, and since when.
//
// A batch in flight does not say which of its messages its handler has: to note that for each would cost more than many a message
// does. So a [Reporter] looks now and then, in a goroutine of its own. Handlers know nothing of it, and those that end before
// have cost nothing.
//
// What a handler runs is known to its watchdog; what people see of it, to package inspector.
package longrun
