package rmq_test

import (
	"context"
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
	defer client.Close(context.Background())

	orders := rmq.Topic{Name: "orders", Kind: rmq.KindFixedTime}
	closed := make(chan string)
	err = client.Listen(orders, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
		closed <- d.Content
		return nil // done; an error would make it come again
	}))
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}

	at := time.Now().Add(100 * time.Millisecond) // half an hour, in a shop
	if _, err := client.Send(ctx, orders, rmq.FixedTime{Content: "order 4711", At: at}); err != nil {
		return err
	}
	fmt.Printf("%s is closed, too early: %t\n", <-closed, time.Now().Before(at))
	return nil
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

	if err := closeOrders(context.Background(), rdb); err != nil {
		fmt.Println(err)
	}
	// Output: order 4711 is closed, too early: false
}
