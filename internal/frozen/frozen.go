// Package frozen lets a test helper give a producer the clock of its in-memory Redis,
// which stands still. Otherwise a producer counts on from the last time it asked. It does not move any clock, and production code sets none.
package frozen

import (
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

var clocks sync.Map // redis.UniversalClient -> func() time.Time

// Set gives the server behind rdb a clock.
func Set(rdb redis.UniversalClient, now func() time.Time) { clocks.Store(rdb, now) }

// Forget takes it away.
func Forget(rdb redis.UniversalClient) { clocks.Delete(rdb) }

// Clock returns the clock of the server behind rdb, or nil if it runs.
func Clock(rdb redis.UniversalClient) func() time.Time {
	now, _ := clocks.Load(rdb)
	f, _ := now.(func() time.Time)
	return f
}
