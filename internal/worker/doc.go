// Package worker takes the turns of slots, and does what their answers say. Whose slots they are, and what becomes of a
// batch, is the business of its two faces: a consumer, which has slots and hands batches to handlers, and the queue in
// which takers of a topic wait.
//
// A turn is repeated unchanged until it is answered, whatever the error: it may have been executed, and to go on with
// another would lose what it reported.
//
// # One server at a time
//
// A write goes to one node. A pipeline to several nodes of a Cluster waits for the slowest. So a writer takes slots of
// one node at a time, and one whose write takes long is replaced until it comes back.
//
// # Goexit
//
// An observer may end the goroutine that calls it, and a writer must not end with answers half read. So all answers of a
// write are read first, and shown before anything is done about them. If that ends the goroutine, another one goes on.
//
// # What counts as stuck
//
// A liveness probe ends a process, so it must never be wrong, least of all for all workers at once. A writer may wait for
// Redis or for work for any time, which proves nothing. Between two waits it runs code that takes moments: ours, and
// that of observers. Only that time is counted. A worker that has lost a writer is no more alive: code that it calls,
// such as a hook of the Redis client, may have ended its goroutine.
//
// The package does not decide which slot is next, see package schedule; nor what a turn asks for, nor what becomes of a
// batch: see packages consumer and poll.
package worker
