// Package verdict says what becomes of a message: what its handler returned, and why the handler's context ended, make a
// [Verdict], which the next turn of the slot reports and which observers see.
//
// # When a message is dead
//
// [Last] decides in Go whether a delivery is the last one. turn.lua decides the same in Redis, where nobody says anything
// of a message: when its worker died.
//
// # Errors of a user
//
// What a handler returns is the user's, and its methods may panic. A Backoff may, too. Here that harms nothing.
//
// The package calls no handler: see package consumer. It does not know when a message expires, nor who cancels it.
package verdict
