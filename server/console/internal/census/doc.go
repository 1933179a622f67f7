// Package census counts what topics hold: some of them at a time, where they have many slots together, and what each owed in the last
// half hour.
//
// It does not say when to count: package collector does.
package census
