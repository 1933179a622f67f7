package poll_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/poll"
	"github.com/slotmq/go-rmq/producer"
)

// One process takes a batch. Another one extends it, and says what became of it.
func Example() {
	server, err := miniredis.Run() // or a real Redis
	check(err)
	defer server.Close()
	ctx, rdb := context.Background(), redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer rdb.Close()
	send, err := producer.New(rdb, producer.Config{})
	check(err)
	defer send.Close(ctx)
	orders := message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 1}
	for priority, content := range map[int64]string{900: "order 4703", 500: "order 4734", 100: "order 4777"} {
		_, err := send.Send(ctx, orders, message.Priority{Content: content, Priority: priority})
		check(err)
	}

	taker, err := poll.New(poll.Config{Redis: rdb, Worker: "gateway-1"})
	check(err)
	defer taker.Close(ctx)
	held, err := taker.Take(ctx, []string{"orders"}, poll.Take{Most: 3, TTR: time.Minute, Wait: 20 * time.Second})
	check(err)
	for _, m := range held.Messages { // held is nil if nothing came
		fmt.Println(m.Content, m.Priority)
	}

	finisher, err := poll.New(poll.Config{Redis: rdb, Worker: "gateway-2"})
	check(err)
	defer finisher.Close(ctx)
	x, err := finisher.Extend(ctx, held.Receipt) // another minute
	check(err)
	fmt.Println("held:", x.Held)
	counted, err := finisher.Finish(ctx, held.Receipt, poll.Later(time.Hour, "not paid yet").Of("order 4734"), poll.Dead("no such customer").Of("order 4777"))
	check(err)
	fmt.Println("counted:", counted)
	// Output:
	// order 4703 900
	// order 4734 500
	// order 4777 100
	// held: true
	// counted: true
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
