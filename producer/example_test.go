package producer_test

import (
	"context"
	"fmt"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

func sendSome(ctx context.Context, rdb redis.UniversalClient) error {
	p, err := producer.New(rdb, producer.Config{})
	if err != nil {
		return err
	}
	defer p.Close(ctx)

	// To be handled in a minute. The second one merges into the first.
	prices := message.Topic{Name: "prices", Kind: message.KindRangeMerge}
	for range 2 {
		r, err := p.Send(ctx, prices, message.RangeMerge{Content: "price of 4715", Range: time.Minute})
		if err != nil {
			return err
		}
		fmt.Println("price:", r.Outcome, "in slot", r.Slot)
	}

	// The larger, the earlier. Orders of one customer lie in one slot.
	orders := message.Topic{Name: "orders", Kind: message.KindPriority}
	receipts, err := p.SendBatch(ctx, orders, []message.Message{
		message.Priority{Content: "order 4703", SlotBasis: "customer 12", Priority: 500},
		message.Priority{Content: "order 4734", SlotBasis: "customer 12", Priority: 900},
	})
	if err != nil {
		return err
	}
	fmt.Println("orders:", receipts[0].Outcome, "in slots", receipts[0].Slot, receipts[1].Slot)

	// Never before its time. Sending it again moves it.
	mails := message.Topic{Name: "mails", Kind: message.KindFixedTime}
	r, err := p.Send(ctx, mails, message.FixedTime{Content: "newsletter", At: time.Now().Add(24 * time.Hour)})
	if err != nil {
		return err
	}
	fmt.Println("mail:", r.Outcome, "in slot", r.Slot)
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

	if err := sendSome(context.Background(), rdb); err != nil {
		fmt.Println(err)
	}
	// Output:
	// price: stored in slot 35
	// price: merged in slot 35
	// orders: stored in slots 3 3
	// mail: stored in slot 8
}
