package wait

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func TestSleep(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if !Sleep(context.Background(), time.Millisecond) || !Sleep(context.Background(), -1) {
		t.Error("the time has not passed")
	}
	if Sleep(ended, time.Hour) || Sleep(ended, 0) {
		t.Error("the context has not ended")
	}
}

func TestGroup(t *testing.T) {
	t.Parallel()
	var group sync.WaitGroup
	if err := Group(context.Background(), &group); err != nil {
		t.Error(err)
	}
	goOn := make(chan struct{})
	group.Go(func() { <-goOn })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Group(ctx, &group); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(goOn)
	if err := Group(context.Background(), &group); err != nil {
		t.Error(err)
	}
}
