package guide_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// A render that is not wanted any more stops in the middle.
func Example_stop() {
	client, end := open(rmq.Config{})
	defer end()
	videos := rmq.Topic{Name: "videos", Kind: rmq.KindPriority}
	began, ended := make(chan struct{}), make(chan struct{})
	renderFrame := func(ctx context.Context, n int) {
		if n == 1 {
			close(began)
			<-ctx.Done() // it takes long
		}
	}

	check(client.Listen(videos, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
		defer close(ended)
		for n := range 1000 {
			if ctx.Err() != nil {
				fmt.Println("stopped because it was cancelled:", errors.Is(context.Cause(ctx), rmq.ErrCancelled))
				return ctx.Err() // whatever the error: the message does not come again
			}
			renderFrame(ctx, n)
		}
		return nil
	}), rmq.ListenOptions{Timeout: time.Hour}))
	check(client.Start(ctx))
	_, err := client.Send(ctx, videos, rmq.Priority{Content: "video 7", Priority: 100})
	check(err)
	<-began

	removed, asked, err := client.Cancel(ctx, videos, "video 7", "")
	check(err)

	<-ended
	fmt.Println("removed:", removed, "asked to stop:", asked)
	client.Advance(24 * time.Hour)
	// Unordered output:
	// stopped because it was cancelled: true
	// removed: false asked to stop: true
}
