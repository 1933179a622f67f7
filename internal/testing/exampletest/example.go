// Package exampletest runs rmqtest in examples, which have no *testing.T.
package exampletest

import (
	"fmt"
	"testing"
)

// T stands for the *testing.T that an example does not have. What would fail a test
// is printed or panics, so the example does not print what it should.
type T struct {
	testing.TB // nil: what is not below, an example does not use
	atEnd      []func()
}

// Helper does nothing.
func (t *T) Helper() {}

// Logf does nothing: the log of a test is no output of an example.
func (t *T) Logf(string, ...any) {}

// Error prints.
func (t *T) Error(args ...any) { fmt.Println(args...) }

// Fatal panics.
func (t *T) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// Fatalf panics.
func (t *T) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Cleanup leaves f for End.
func (t *T) Cleanup(f func()) { t.atEnd = append(t.atEnd, f) }

// End does what Cleanup was given, the last first, as at the end of a test. Only the first call does.
func (t *T) End() {
	for _, f := range t.atEnd {
		defer f()
	}
	t.atEnd = nil
}
