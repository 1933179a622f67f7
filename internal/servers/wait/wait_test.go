package wait

import (
	"context"
	"errors"
	"testing"
)

func TestFor(t *testing.T) {
	broken := errors.New("broken")
	if err := For(context.Background(), func(context.Context) error { return broken }); err != broken {
		t.Errorf("got %v", err)
	}

	// The context ends while do goes on.
	ctx, cancel := context.WithCancel(context.Background())
	goOn, ended := make(chan struct{}), make(chan struct{})
	err := For(ctx, func(context.Context) error {
		defer close(ended)
		cancel()
		<-goOn
		return broken
	})
	if !errors.Is(err, context.Canceled) || errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	close(goOn)
	<-ended

	// It has ended before.
	err = For(ctx, func(context.Context) error {
		t.Error("begun with a context that had ended")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A failure that the end of the context brought about says so, whatever it says itself.
func TestForTellsWhy(t *testing.T) {
	broken := errors.New("operation was canceled")
	for range 100 { // either may be noticed first
		ctx, cancel := context.WithCancel(context.Background())
		err := For(ctx, func(context.Context) error { cancel(); return broken })
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	}
}
