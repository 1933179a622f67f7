// Package watchdog watches over the batch of a slot while handlers have it.
//
// A [Watchdog] gives each handler its context. It cancels a handler that runs for longer than its time, or whose message is
// cancelled; renews the lease of a batch that takes long; cancels all handlers of a batch whose lease is lost; and gives a
// slot up whose handler ignores that.
//
// The package calls no handler, and does not know what becomes of messages: see packages consumer and verdict.
package watchdog
