package servertest

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Tests take servers away on purpose; go-redis would report every failed dial.
func init() { redis.SetLogger(quiet{}) }

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// newClient is a client with the options users get by default, closed with the test.
func newClient(t testing.TB, addr, password string, adjust []func(*redis.Options)) *redis.Client {
	t.Helper()
	opts := &redis.Options{Addr: addr, Password: password}
	for _, f := range adjust {
		f(opts)
	}
	rdb := redis.NewClient(opts)
	t.Cleanup(func() { _ = rdb.Close() }) // a test may have closed it already
	return rdb
}
