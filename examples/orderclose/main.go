// Orderclose closes orders that are not paid for 30 minutes after they were
// made. Each order is one FixedTime message. Sending it again moves it, for a
// customer who asks for more time. Paying needs no message: when its time comes
// the handler looks at the order and finds that it is paid. It has to look
// anyway, since a message may come twice.
//
// A minute takes 60 ms here.
//
//	go run ./examples/orderclose
//	go run ./examples/orderclose -redis redis://localhost:6379
package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/examples/internal/store"
	"github.com/slotmq/go-rmq/rmq"
)

const (
	minute = 60 * time.Millisecond
	limit  = 30 * minute
)

var orderLimits = rmq.Topic{Name: "order-limits", Kind: rmq.KindFixedTime}

func main() { store.Main(run) }

func run(ctx context.Context, s *store.Store) error {
	shop := shop{states: map[string]string{}, looked: make(chan struct{}, 100)}
	client, err := s.Client(rmq.Config{})
	if err != nil {
		return err
	}
	defer client.Close(context.Background())
	if err := client.Listen(orderLimits, rmq.ListenerFunc(shop.timeIsUp), rmq.ListenOptions{}); err != nil {
		return err
	}
	shop.begin = time.Now()
	if err := client.Start(ctx); err != nil {
		return err
	}

	closeIn := func(order string, limit time.Duration) error {
		_, err := client.Send(ctx, orderLimits, rmq.FixedTime{Content: order, In: limit})
		return err
	}
	const orders = 6
	shop.say("a minute takes 60 ms here")
	for i := 1; i <= orders; i++ {
		order := fmt.Sprintf("order %d", i)
		shop.set(order, "open")
		if err := closeIn(order, limit); err != nil {
			return err
		}
	}
	shop.say("%d orders were made, to be closed after 30 minutes", orders)

	time.Sleep(10 * minute)
	shop.set("order 2", "paid")
	shop.set("order 5", "paid")
	shop.say("orders 2 and 5 are paid")
	if err := closeIn("order 3", 40*minute); err != nil { // merges: the last time counts
		return err
	}
	shop.say("order 3 gets 20 minutes more: sent again")

	for range orders {
		select {
		case <-shop.looked:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// shop has a table of orders.
type shop struct {
	begin  time.Time
	looked chan struct{}

	mu     sync.Mutex
	states map[string]string
}

// timeIsUp handles an order whose time has come.
func (s *shop) timeIsUp(_ context.Context, d *rmq.Delivery) error {
	s.mu.Lock()
	state := s.states[d.Content]
	if state == "open" { // in a database: update … where state = 'open'
		s.states[d.Content] = "closed"
	}
	s.mu.Unlock()
	switch state {
	case "open":
		s.say("%s: time is up, not paid: closed", d.Content)
	default:
		s.say("%s: time is up, %s already: nothing to do", d.Content, state)
	}
	s.looked <- struct{}{}
	return nil
}

func (s *shop) set(order, state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.states[order] = state
}

func (s *shop) say(format string, args ...any) {
	fmt.Printf("minute %4.1f  %s\n", float64(time.Since(s.begin))/float64(minute), fmt.Sprintf(format, args...))
}
