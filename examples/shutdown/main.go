// Shutdown ends a worker as a deployment does, by SIGTERM, while two handlers
// run: one that soon returns, and one that would take an hour. Close waits for
// the first, and stops the second when its own deadline comes. What was stopped
// is handed back without spending an attempt; the next worker gets it.
//
//	go run ./examples/shutdown          # sends itself the signal
//	go run ./examples/shutdown -wait    # until you press Ctrl-C
//	go run ./examples/shutdown -redis redis://localhost:6379
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/slotmq/go-rmq/examples/internal/store"
	"github.com/slotmq/go-rmq/rmq"
)

var wait = flag.Bool("wait", false, "wait for Ctrl-C or SIGTERM from outside")

var jobs = rmq.Topic{Name: "jobs", Kind: rmq.KindPriority}

var begin time.Time

func say(format string, args ...any) {
	fmt.Printf("%5.2f s  %s\n", time.Since(begin).Seconds(), fmt.Sprintf(format, args...))
}

func main() { store.Main(run) }

func run(_ context.Context, s *store.Store) error {
	begin = time.Now()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	client, err := s.Client(rmq.Config{Worker: "first", Timeout: 2 * time.Hour})
	if err != nil {
		return err
	}
	started := make(chan string, 2)
	if err := client.Listen(jobs, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
		started <- d.Content
		takes := map[string]time.Duration{"short": 400 * time.Millisecond, "long": time.Hour}[d.Content]
		say("the %s handler begins, which takes %v", d.Content, takes)
		select {
		case <-time.After(takes):
			say("the %s handler is through", d.Content)
			return nil
		case <-ctx.Done(): // a handler should look at its context
			say("the %s handler stops, because %v", d.Content, context.Cause(ctx))
			return ctx.Err()
		}
	}), rmq.ListenOptions{}); err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	if _, err := client.SendBatch(ctx, jobs, []rmq.Message{
		rmq.Priority{Content: "short", Priority: 100},
		rmq.Priority{Content: "long", Priority: 100},
	}); err != nil {
		return err
	}
	<-started
	<-started

	if *wait {
		say("press Ctrl-C, or: kill %d", os.Getpid())
	} else if self, err := os.FindProcess(os.Getpid()); err != nil {
		return err
	} else if err := self.Signal(syscall.SIGTERM); err != nil {
		return err
	}

	<-ctx.Done()
	stop() // a second signal ends the program at once
	say("signal: the worker closes; handlers have 1 s")
	closing, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := client.Close(closing); err != nil {
		return err
	}
	say("closed")
	return next(s)
}

// next is the worker after the deployment.
func next(s *store.Store) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client, err := s.Client(rmq.Config{Worker: "next"})
	if err != nil {
		return err
	}
	defer client.Close(context.Background())
	got := make(chan int, 1)
	if err := client.Listen(jobs, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		say("the next worker gets the %s one, as delivery %d: no attempt was spent", d.Content, d.Attempt)
		got <- d.Attempt
		return nil
	}), rmq.ListenOptions{}); err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	select {
	case attempt := <-got:
		if attempt != 1 {
			return fmt.Errorf("it was delivery %d", attempt)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the long one did not come again: %w", ctx.Err())
	}
}
