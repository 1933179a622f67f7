package guide_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// grace is what handlers get to end: 25 s, say.
const grace = 100 * time.Millisecond

// A signal ends the worker. The handler that takes too long sees it, and stops.
func Example_shutdown() {
	client, end := open(rmq.Config{})
	defer end()
	imports := rmq.Topic{Name: "imports", Kind: rmq.KindPriority}
	began, importPage := make(chan struct{}, 1), func(ctx context.Context, page int) {
		if page == 3 {
			<-ctx.Done() // it is slow
		}
	}

	check(client.Listen(imports, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
		began <- struct{}{}
		for page := range 1000 {
			if ctx.Err() != nil {
				fmt.Println("stopped:", context.Cause(ctx))
				return ctx.Err() // rmq.ErrClosing is the cause: no attempt is spent
			}
			importPage(ctx, page)
		}
		return nil
	}), rmq.ListenOptions{Timeout: time.Hour}))

	signalled, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	check(client.Start(ctx))
	_, err := client.Send(ctx, imports, rmq.Priority{Content: "products.csv", Priority: 100})
	check(err)
	<-began
	check(syscall.Kill(os.Getpid(), syscall.SIGTERM))

	<-signalled.Done()
	stop() // a second signal ends the program at once
	closing, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	err = client.Close(closing) // waits for handlers until then, and then cancels them

	fmt.Println("closed:", err)
	// Output:
	// stopped: the worker is closing
	// closed: <nil>
}
