package rmq

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

var errBusy = errors.New("the database is busy")

// fakeDatabase is away for some time, then busy for a while.
type fakeDatabase struct {
	mu      sync.Mutex
	back    time.Time
	busy    int
	tries   int
	written map[string]bool
}

func (db *fakeDatabase) write(_ context.Context, row string) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	switch {
	case time.Now().Before(db.back):
		db.tries++
		return errors.New("the database is away")
	case db.busy > 0:
		db.busy--
		return errBusy
	}
	db.written[row] = true
	return nil
}

// The listener that docs/GUIDE.md shows, in an outage that is shorter than the hour of docs/REFERENCE.md.
func TestAnHourWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client, err := New(Config{Redis: servertest.SharedRedis(t).Client(t), Logger: zap.NewNop()})
	must.Do(t, err)
	defer client.Close(ctx)
	invoices := Topic{Name: "an-hour-without", Kind: KindPriority}
	due := night.Times(1000, 10_000)
	messages := make([]Message, due)
	for i := range messages {
		messages[i] = Priority{Content: fmt.Sprint("invoice ", i), Priority: 100}
	}
	_, err = client.SendBatch(ctx, invoices, messages)
	must.Do(t, err)
	db := &fakeDatabase{back: time.Now().Add(4 * time.Second), busy: 3, written: map[string]bool{}}

	err = client.Listen(invoices, ListenerFunc(func(ctx context.Context, d *Delivery) error {
		err := db.write(ctx, d.Content)
		if errors.Is(err, errBusy) {
			return Pushback(100*time.Millisecond, err) // it is there, and wants less
		}
		return err
	}), ListenOptions{})
	must.Do(t, err)
	must.Do(t, client.Start(ctx))
	await.True(t, "all are written", func() bool {
		db.mu.Lock()
		defer db.mu.Unlock()
		return len(db.written) == due
	})
	t.Logf("%d deliveries were spent", db.tries)
	if db.tries > 100 {
		t.Errorf("%d deliveries were spent in an outage of 4 s", db.tries)
	}
}
