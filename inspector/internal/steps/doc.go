// Package steps takes messages out, step by step, and tells the journal. A step is one call of a script for each slot; one that has
// no answer is repeated, and what it may have done counts as lost.
//
// It does not choose the messages.
package steps
