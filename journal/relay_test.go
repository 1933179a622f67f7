package journal

import (
	"database/sql"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/message"
)

// SendTx has the relay of its process look soon, however long it would have waited.
func TestRelayIsWoken(t *testing.T) {
	t.Parallel()
	ctx := await.Context(t)
	r := &relay{Journal: &Journal{committing: make(chan struct{}, 1), stop: make(chan struct{})}}
	// No messages are no statement, so this needs no database; they wake it all the same.
	if err := r.SendTx(ctx, new(sql.Tx), message.Topic{Name: "orders", Kind: message.KindFixedTime}); err != nil {
		t.Fatal(err)
	}
	pause := time.Hour
	if !r.wait(ctx, &pause) || pause != soon {
		t.Error(pause)
	}
	close(r.stop)
	if r.wait(t.Context(), &pause) {
		t.Error("it goes on after Close")
	}
}
