// Package await is how tests wait: for a signal where there is one, and by asking again and
// again where nobody gives one. Every wait has the same patience, which is far above what a busy
// machine needs: it only ends tests that would hang, and is no bound of anything.
//
//	d := await.Signal(t, "the delivery", deliveries)
//	await.True(t, "the slot is empty", func() bool { return rdb.ZCard(ctx, key).Val() == 0 })
//	await.Nil(t, "the worker is ready", func() error { return client.Health(ctx) })
//
// The package does not wait for a time to pass: move the clock, or use testing/synctest. That a
// thing does not happen is shown by what happens after it; where nothing does, by Silence.
package await

import (
	"context"
	"testing"
	"time"
)

// Patience is how long every wait of a test lasts at most.
const Patience = time.Minute

const (
	firstLook = time.Millisecond      // how soon True and Nil ask again at first
	lastLook  = 20 * time.Millisecond // and after a while: asking costs what others need
)

// Signal returns what comes from a channel, or its zero value when the channel is closed.
func Signal[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	patience := time.NewTimer(Patience)
	defer patience.Stop()
	select {
	case v := <-c:
		return v
	case <-patience.C:
		t.Fatalf("%s: not within %v", what, Patience)
		panic("unreachable")
	}
}

// True returns when the condition holds.
func True(t testing.TB, what string, is func() bool) {
	t.Helper()
	if !until(is) {
		t.Fatalf("%s: not so within %v", what, Patience)
	}
}

// Nil returns when f returns nil.
func Nil(t testing.TB, what string, f func() error) {
	t.Helper()
	var last error
	if !until(func() bool { last = f(); return last == nil }) {
		t.Fatalf("%s: not within %v: %v", what, Patience, last)
	}
}

func until(is func() bool) bool {
	patience := time.NewTimer(Patience)
	defer patience.Stop()
	for pause := firstLook; !is(); pause = min(2*pause, lastLook) {
		look := time.NewTimer(pause)
		select {
		case <-look.C:
		case <-patience.C:
			return is()
		}
	}
	return true
}

// Silence fails the test when anything comes from the channel within d. A busy machine can only
// make it overlook something: take it where no later event shows that nothing came.
func Silence[T any](t testing.TB, what string, c <-chan T, d time.Duration) {
	t.Helper()
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case v := <-c:
		t.Fatalf("%s: %v", what, v)
	case <-over.C:
	}
}

// Context is a context for what a test calls and waits for: it ends when the patience is over or
// the test is.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// CleanupContext is a context for the cleanups of a test, which come when that of the test has
// ended.
func CleanupContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), Patience)
	t.Cleanup(cancel)
	return ctx
}

// Pass returns when d has passed: for what takes its time in a test, like a handler, or a fault
// that lasts. No test waits with it for something that others do.
func Pass(d time.Duration) {
	over := time.NewTimer(d)
	defer over.Stop()
	<-over.C
}
