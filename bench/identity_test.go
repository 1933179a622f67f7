package main

import (
	"strings"
	"testing"
)

// What the benchmark's word rests on: a message that is lost or comes again is
// noticed.
func TestIdentities(t *testing.T) {
	t.Parallel()
	const n = 130
	ids := newIdentities(n)
	for i := range n - 1 {
		if got := ids.handled(content(i, 32)); got != i {
			t.Errorf("message %d is taken for %d", i, got)
		}
	}
	if err := ids.check(); err == nil || !strings.Contains(err.Error(), "1 were lost, and 0 ") || ids.once() != n-1 {
		t.Errorf("one is lost: %v", err)
	}
	if got := ids.handled(content(n, 32)); got != -1 {
		t.Errorf("a message that was not sent is taken for %d", got)
	}
	ids.handled(content(n-1, 1)) // its number alone is longer
	if err := ids.wait(); err != nil {
		t.Error(err)
	}
	if err := ids.check(); err != nil || ids.once() != n {
		t.Errorf("all came once: %v", err)
	}
	ids.handled(content(63, 32))
	if err := ids.check(); err == nil || !strings.Contains(err.Error(), "0 were lost, and 1 ") || ids.once() != n {
		t.Errorf("one came again: %v", err)
	}
}

// What several workers have handled is put together.
func TestMergedIdentities(t *testing.T) {
	t.Parallel()
	all, one, other := newIdentities(100), newIdentities(100), newIdentities(100)
	for i := range 100 {
		if i < 60 {
			one.handled(content(i, 32))
		} else {
			other.handled(content(i, 32))
		}
	}
	all.merge(one.bits(), 0)
	all.merge(other.bits(), 0)
	if err := all.check(); err != nil {
		t.Error(err)
	}
	all.merge(one.bits(), 3)
	if err := all.check(); err == nil || !strings.Contains(err.Error(), "0 were lost, and 63 ") {
		t.Errorf("60 came to both, and 3 twice to one: %v", err)
	}
}
