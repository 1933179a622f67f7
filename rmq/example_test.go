package rmq_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/rmq"
)

func closeOrders(ctx context.Context, rdb redis.UniversalClient) error {
	client, err := rmq.New(rmq.Config{Redis: rdb})
	if err != nil {
		return err
	}
	defer client.Close(ctx)

	orders := rmq.Topic{Name: "orders", Kind: rmq.KindFixedTime}
	closed := make(chan string, 1)
	err = client.Listen(orders, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
		closed <- d.Content
		return nil // done; an error would make it come again
	}), rmq.ListenOptions{})
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}

	at := time.Now().Add(time.Second) // half an hour, in a shop
	if _, err := client.Send(ctx, orders, rmq.FixedTime{Content: "order 4711", At: at}); err != nil {
		return err
	}
	select {
	case order := <-closed:
		fmt.Printf("%s is closed, too early: %t\n", order, time.Now().Before(at))
	case <-ctx.Done():
	}
	return ctx.Err()
}

func sendBatch(ctx context.Context, client *rmq.Client) error {
	tasks := rmq.Topic{Name: "tasks", Kind: rmq.KindPriority}
	receipts, err := client.SendBatch(ctx, tasks, []rmq.Message{
		rmq.Priority{Content: "order 4703", SlotBasis: "customer 12", Priority: 500},
		rmq.Priority{Content: "order 4734", SlotBasis: "customer 12", Priority: 900},
	})
	if err != nil {
		return err
	}
	fmt.Println("tasks:", receipts[0].Outcome, "in slots", receipts[0].Slot, receipts[1].Slot)

	prices := rmq.Topic{Name: "prices", Kind: rmq.KindRangeMerge}
	for range 2 { // the second merges into the first, and both are handled once, in a minute
		receipt, err := client.Send(ctx, prices, rmq.RangeMerge{Content: "price of 4715", Range: time.Minute})
		if err != nil {
			return err
		}
		fmt.Println("price:", receipt.Outcome)
	}
	return nil
}

func ExampleClient_SendBatch() {
	server, err := miniredis.Run() // or a real Redis
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	client, err := rmq.New(rmq.Config{Redis: rdb})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := errors.Join(sendBatch(ctx, client), client.Close(ctx)); err != nil {
		fmt.Println(err)
	}
	// Output:
	// tasks: stored in slots 3 3
	// price: stored
	// price: merged
}

func Example() {
	server, err := miniredis.Run() // or a real Redis
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := closeOrders(ctx, rdb); err != nil {
		fmt.Println(err)
	}
	// Output: order 4711 is closed, too early: false
}
