package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/examples/internal/store"
	"github.com/slotmq/go-rmq/rmq"
)

// startWorker returns a running client that handles one topic. This is all a
// program needs to do to become a worker.
func startWorker(ctx context.Context, s *store.Store, cfg rmq.Config, t rmq.Topic, handle rmq.ListenerFunc) (*rmq.Client, error) {
	client, err := s.Client(cfg)
	if err != nil {
		return nil, err
	}
	if err := client.Listen(t, handle, rmq.ListenOptions{}); err != nil {
		return nil, err
	}
	if err := client.Start(ctx); err != nil {
		return nil, err
	}
	return client, nil
}

// stopWorker ends the work of a client. It waits for handlers that run, a minute at
// the most.
func stopWorker(client *rmq.Client, err *error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	*err = errors.Join(*err, client.Close(ctx))
}

// collect waits for n values.
func collect[T any](ctx context.Context, from <-chan T, n int) ([]T, error) {
	var all []T
	for len(all) < n {
		select {
		case v := <-from:
			all = append(all, v)
		case <-ctx.Done():
			return all, fmt.Errorf("%d of %d deliveries came: %w", len(all), n, ctx.Err())
		}
	}
	return all, nil
}
