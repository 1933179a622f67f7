// Package flow finds how many handlers of a topic are worth running at once in a worker, and in all its workers together.
//
// It goes by what comes out: now and then, while work waits, it tries fewer handlers for a
// moment, or more. If about as many messages are handled by fewer, what is behind the handlers
// is the bottleneck, and it stays with fewer; if more handlers handle more, it stays with more.
// In doubt it takes more: messages that take very different times prove nothing soon. Handlers
// that time out, or push back, make it fewer at once.
//
// It is arithmetic: it reads no clock, starts no goroutine, and knows neither Redis nor the
// schedule. See package consumer.
package flow
