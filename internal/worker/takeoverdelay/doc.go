// Package takeoverdelay knows how long messages of a worker that died wait for their retry.
//
// Their topic's Backoff says so. It is the user's and may take its time, and a turn cannot wait for it. So [Delays] asks it when
// another worker's batch is about to be taken over, and each turn names the last answer.
//
// The package takes nothing over: turn.lua does.
package takeoverdelay
