// Nightly has three instances of a service write a report each night, once. None of them is a leader:
// each declares the report when it starts, and they may come and go.
//
// A day takes 400 ms here.
//
//	go run ./examples/nightly
//	go run ./examples/nightly -redis redis://localhost:6379
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/examples/internal/store"
	"github.com/slotmq/go-rmq/rmq"
)

const day = 400 * time.Millisecond

func main() { store.Main(run) }

func run(ctx context.Context, s *store.Store) error {
	rule := nightly
	rule.Cron, rule.Zone, rule.Period = "", "", day

	written := make(chan string, 100) // by whom
	running := map[string]*rmq.Client{}
	defer func() {
		for _, client := range running {
			_ = client.Close(context.Background())
		}
	}()
	start := func(name string) error {
		client, err := s.Client(rmq.Config{})
		if err != nil {
			return err
		}
		running[name] = client
		x := instance{name, client, func(by string, _ *rmq.Delivery) { written <- by }}
		return x.start(ctx, rule)
	}
	fmt.Println("A day takes 400 ms here.")
	for _, name := range []string{"a", "b", "c"} {
		if err := start(name); err != nil {
			return err
		}
	}
	fmt.Println("Three instances have declared the report, and work.")

	for night := 1; night <= 9; night++ {
		var by string
		select {
		case by = <-written:
		case <-ctx.Done():
			return ctx.Err()
		}
		fmt.Printf("night %d: written by %s\n", night, by)
		switch client := running[by]; {
		case (night == 3 || night == 6) && client != nil:
			fmt.Printf("         %s stops\n", by)
			delete(running, by)
			if err := client.Close(ctx); err != nil {
				return err
			}
		case night == 8:
			if err := start("d"); err != nil {
				return err
			}
			fmt.Println("         d starts, and declares the report, too")
		}
	}
	plans, err := running["d"].Plans(ctx, reports)
	if err != nil {
		return err
	}
	fmt.Printf("It is one plan still: %d.\n", len(plans))
	return nil
}
