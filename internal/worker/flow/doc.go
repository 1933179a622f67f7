// Package flow finds how many handlers of a topic are worth running at once in a worker, and in all its workers together.
//
// It goes by what comes out: now and then, while work waits, it tries fewer handlers for a
// moment, or more. If about as many messages are handled by fewer, what is behind the handlers
// is the bottleneck, and it stays with fewer; if more handlers handle more, it stays with more.
// In doubt it takes more: messages that take very different times prove nothing soon. Handlers
// that time out, or push back, make it fewer at once.
//
// It is arithmetic: it reads no clock, starts no goroutine, and knows neither Redis nor the
// schedule. See package intake.
//
// # What comes out, not how long it takes
//
// internal/worker/flow finds out how many handlers of a topic are of use. It does not compare handling times with the shortest
// ever seen: that is of another load, or of smaller messages. It tries: while work waits, it allows 0.7 times as many
// handlers for a moment (0.55 times, from 24 on), at least as long as four batches of each, until chance hardly explains
// what came out. Each was of use? Then 0.7 times as much did, and the next trial waits until this one has cost less than
// a hundredth. Nearly as much? It stays with fewer, and tries again. Trials with more cost nothing, so there is one
// every few seconds. In doubt fewer are given up: so messages that take very different times keep their handlers.
// Nothing is tried when the handlers take less than half of the time in which their places are used: then the turns are
// what takes long. Nor where a batch takes longer than 10 s: a trial would last for minutes, and what the first loses
// would take hours to be little. In a simulation (internal/worker/flow/limit_test.go, slow_test.go) constant, CPU-bound and
// bimodal handlers lose 0 to 2 % by it, those of 10 s 1.1 % in their first hour, slower ones nothing: so it is the
// default. On a live Redis, in the first 4 to 14 s, it was 1 to 3 %.
//
// What comes out must show what the handlers can do. So nothing is learned while another limiter allows fewer places
// than the flow does (Demand.Others), and slots that wait for the tokens of a rate do not count as work that waits. Only
// a push-back is heard in any case, because the rest that it asks for has begun by then.
//
// # All workers try at once
//
// Before a shared bottleneck, one that tries fewer alone gets less: that shows nothing. So one leads. It publishes when
// a trial begins and how it ended, and every 2 s; the others try the same. Each ends a trial as it saw it where that is
// clear, else as the leader says, and who saw otherwise leads next (internal/worker/flow/others.go). After 5 s, or 30 batches,
// of silence another one leads; a new worker takes no more than it hears. When the number of its slots changes, workers
// have come or gone: each finds all out anew, 2.5 s later.
package flow
