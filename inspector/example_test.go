package inspector_test

import (
	"context"
	"fmt"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

func look(ctx context.Context, rdb redis.UniversalClient) error {
	p, err := producer.New(rdb, producer.Config{})
	if err != nil {
		return err
	}
	defer p.Close(ctx)
	orders := message.Topic{Name: "orders", Kind: message.KindPriority}
	for priority, content := range map[int64]string{900: "order 4703", 500: "order 4734"} {
		if _, err := p.Send(ctx, orders, message.Priority{Content: content, SlotBasis: "customer 12", Priority: priority}); err != nil {
			return err
		}
	}

	i, err := inspector.New(rdb, inspector.Config{})
	if err != nil {
		return err
	}
	stats, err := i.Stats(ctx, "orders")
	if err != nil {
		return err
	}
	fmt.Println(stats.Waiting, "wait,", stats.Workers, "workers")

	found, err := i.Explain(ctx, "orders", "order 4734", "") // wherever it is
	if err != nil {
		return err
	}
	for _, e := range found {
		fmt.Println("in slot", e.Slot, "with priority", e.Waiting.Priority)
		for _, reason := range e.WaitsFor {
			fmt.Println("it waits for", reason)
		}
	}
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

	if err := look(context.Background(), rdb); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 2 wait, 0 workers
	// in slot 3 with priority 500
	// it waits for 1 message before it in slot 3
	// it waits for a worker: none listens to this topic
}
