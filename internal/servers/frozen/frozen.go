// Package frozen lets package rmqtest stop the clock of an in-memory Redis. Producers then
// read that clock for each send. (Otherwise they count on from the last time they asked.)
// The test waits until the workers have done what is due. Production code sets no clock.
package frozen

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// server is one whose clock stands still.
type server struct {
	now func() time.Time

	mu      sync.Mutex
	workers []func(ctx context.Context) error
}

var servers sync.Map // redis.UniversalClient -> *server

// Set gives the server behind rdb a clock.
func Set(rdb redis.UniversalClient, now func() time.Time) { servers.Store(rdb, &server{now: now}) }

// Forget takes it away.
func Forget(rdb redis.UniversalClient) { servers.Delete(rdb) }

func of(rdb redis.UniversalClient) *server {
	s, _ := servers.Load(rdb)
	known, _ := s.(*server)
	return known
}

// Clock returns the clock of the server behind rdb, or nil if it runs.
func Clock(rdb redis.UniversalClient) func() time.Time {
	if s := of(rdb); s != nil {
		return s.now
	}
	return nil
}

// Work notes how to wait for a worker: settle returns when nothing is due and no handler
// runs. It does nothing if the server's clock runs.
func Work(rdb redis.UniversalClient, settle func(ctx context.Context) error) {
	if s := of(rdb); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.workers = append(s.workers, settle)
	}
}

// Settle waits for all workers of the server.
func Settle(ctx context.Context, rdb redis.UniversalClient) error {
	s := of(rdb)
	if s == nil {
		return errors.New("settle: the clock of this server runs")
	}
	s.mu.Lock()
	workers := s.workers
	s.mu.Unlock()
	for _, settle := range workers {
		if err := settle(ctx); err != nil {
			return err
		}
	}
	return nil
}
