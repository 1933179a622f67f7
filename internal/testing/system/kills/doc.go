// Package kills runs workers as processes of their own and kills, freezes and stops them at each
// bad moment and under load: what that may cost, and that nothing gets lost.
//
// It holds tests only; package workers has what they run. Each test has a Redis of its own, so
// all of them run beside each other, with leases that a busy machine does not break.
package kills
