package journal

import (
	"testing"
	"time"
)

// SendTx has the relay of its process look soon, however long it would have waited.
func TestRelayIsWoken(t *testing.T) {
	r := &relay{Journal: &Journal{committing: make(chan struct{}, 1), stop: make(chan struct{})}}
	signal(r.committing)
	pause := time.Hour
	if !r.wait(t.Context(), &pause) || pause != soon {
		t.Error(pause)
	}
	close(r.stop)
	if r.wait(t.Context(), &pause) {
		t.Error("it goes on after Close")
	}
}
