// Package verdict says what becomes of a message: what its handler returned, and why the handler's context ended, make a
// [Verdict], which the next turn of the slot reports and which observers see.
//
// # When a message is dead
//
// A message is dead when its handler says so, when it came too late (package expiry), or after its last delivery. [Last]
// says in Go which one is the last: that of MaxAttempts, 17 at most. In Redis the step finish.lua of turn.lua puts what is
// to die among the dead, and all that fails without a retry left: also where no verdict came, because its worker died.
//
// # Errors of a user
//
// What a handler returns is the user's, and its methods may panic. A Backoff may, too. Here that harms nothing.
//
// The package calls no handler: see package consumer. It does not know when a message expires, nor who cancels it.
package verdict
