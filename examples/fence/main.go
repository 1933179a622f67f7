// Fence shows what Delivery.Fence is for. A handler freezes with an answer in
// its hand, for so long that its message is given to another one. When it wakes
// up it writes what it knows, which is out of date by now. No queue can prevent
// that: the process may have been stopped by its machine, and the packet may be
// on its way. The table can: it remembers the number of the delivery that wrote
// a row last, and refuses an older one. See table.go.
//
//	go run ./examples/fence
//	go run ./examples/fence -redis redis://localhost:6379
//	go run ./examples/fence -redis redis://localhost:6379 -zk localhost:2181
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/slotmq/go-rmq/examples/internal/store"
	"github.com/slotmq/go-rmq/rmq"
)

const order = "order 4711"

// What the carrier answers, first and later.
var answers = []string{"at the warehouse", "delivered"}

var parcels = rmq.Topic{Name: "parcels", Kind: rmq.KindPriority}

var begin time.Time

func say(format string, args ...any) {
	fmt.Printf("%5.2f s  %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
}

func main() { store.Main(run) }

func run(ctx context.Context, s *store.Store) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 45*time.Second)
	defer cancel()
	begin = time.Now()
	client, err := s.Client(rmq.Config{
		Timeout: 200 * time.Millisecond, // after twice that the slot is not kept for a handler any longer
		Lease:   time.Second,
		Backoff: rmq.Schedule(10 * time.Millisecond),
		Slog:    slog.New(slog.DiscardHandler), // it would warn of what is done here on purpose
	})
	if err != nil {
		return err
	}
	h := handler{thaw: make(chan struct{}), late: make(chan bool, 1), orders: table{rows: map[string]row{}}}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = errors.Join(err, client.Close(closing))
	}()
	if err := client.Listen(parcels, &h, rmq.ListenOptions{}); err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	if _, err := client.Send(ctx, parcels, rmq.Priority{Content: order, Priority: 100}); err != nil {
		return err
	}
	select {
	case late := <-h.late:
		return h.sum(late)
	case <-ctx.Done():
		h.wake()
		return fmt.Errorf("wait for another delivery of %s: %w", order, ctx.Err())
	}
}

// sum reports what is in the table now.
func (h *handler) sum(late bool) error {
	now := h.orders.read(order)
	fmt.Printf("The order is %q. Without the number it would be %q.\n", now.state, now.unfenced)
	if late || now.state != answers[1] || now.unfenced != answers[0] {
		return errors.New("the older number was not refused")
	}
	return nil
}
