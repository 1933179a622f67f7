// Searchindex keeps a search index behind what people write, but not far behind. People save a page
// again and again while they write, and indexing it is slow. So a page is indexed when nobody has saved
// it for 2 s, and if they never stop, 30 s after the first save that is not in the index.
//
// A second takes 20 ms here.
//
//	go run ./examples/searchindex
//	go run ./examples/searchindex -redis redis://localhost:6379
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/examples/internal/store"
	"github.com/slotmq/go-rmq/rmq"
)

const second = 20 * time.Millisecond

func main() { store.Main(run) }

func run(ctx context.Context, s *store.Store) error {
	client, err := s.Client(rmq.Config{})
	if err != nil {
		return err
	}
	defer client.Close(context.Background())
	begin := time.Now()
	say := func(format string, args ...any) {
		fmt.Printf("second %4.1f  %s\n", float64(time.Since(begin))/float64(second), fmt.Sprintf(format, args...))
	}
	built := make(chan struct{}, 1)
	x := newIndex(client, 2*second, 30*second, func(d *rmq.Delivery, save int) {
		say("%s is in the index, as of save %d", d.Content, save)
		select {
		case built <- struct{}{}:
		default:
		}
	})
	if err := x.listen(); err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}

	fmt.Println("A second takes 20 ms here.")
	if _, err := x.save(ctx, "contact"); err != nil {
		return err
	}
	say("somebody saves contact, once")
	const saves = 45
	say("somebody writes news, and saves it every second")
	for range saves {
		if _, err := x.save(ctx, "news"); err != nil {
			return err
		}
		time.Sleep(second)
	}
	say("news is written: %d saves", saves)
	for !x.upToDate() {
		select {
		case <-built:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	fmt.Printf("All is in the index. It took %d times for %d saves.\n", x.times(), saves+1)
	return nil
}
