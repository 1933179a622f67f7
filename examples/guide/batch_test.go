package guide_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// warehouse is a table that takes many rows in one write, and refuses bad ones.
// Batches of several slots are saved at the same time.
type warehouse struct {
	mu           sync.Mutex
	writes, rows int
}

func (w *warehouse) save(_ context.Context, clicks []*rmq.Delivery) (bad map[int]error, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes++
	bad = map[int]error{}
	for i, c := range clicks {
		if c.Content == "click 7" {
			bad[i] = errors.New("no such page")
		} else {
			w.rows++
		}
	}
	return bad, nil
}

// A hundred messages, in a few writes.
func Example_batch() {
	client, end := open(rmq.Config{})
	defer end()
	db := &warehouse{}
	clicks := rmq.Topic{Name: "clicks", Kind: rmq.KindFixedTime, Slots: 4}

	check(client.ListenBatch(clicks, rmq.BatchFunc(func(ctx context.Context, b *rmq.Batch) error {
		bad, err := db.save(ctx, b.Messages) // one insert for all of them
		for i, reason := range bad {
			b.Dead(i, reason) // or b.Fail(i, err), b.RetryAfter(i, d, err)
		}
		return err // about all others: nil is done
	}), rmq.BatchOptions{
		Most:   100,                    // in one call
		Gather: 200 * time.Millisecond, // a slot waits that long for more
	}))
	check(client.Start(ctx))

	for n := range 100 {
		_, err := client.Send(ctx, clicks, rmq.FixedTime{Content: fmt.Sprint("click ", n), In: time.Second})
		check(err)
	}
	client.Advance(2 * time.Second)
	fmt.Println(db.rows, "rows in", db.writes, "writes")
	// Output: 99 rows in 4 writes
}
