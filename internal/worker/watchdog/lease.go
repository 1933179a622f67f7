package watchdog

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
)

// The lease is counted from before the request. The server starts it later, so ours always ends first, unless the
// server's clock jumps forward. Repeated turns count from the last try, because the lease starts again when a batch is
// returned again.

// lease is how long a batch is the worker's.
type lease struct {
	until   time.Time // it holds, counted from before the request, less a margin; zero: there is none
	touchAt time.Time
}

// margin is how much shorter a lease is taken to be.
func margin(lease time.Duration) time.Duration { return max(lease/10, 500*time.Millisecond) }

// renewed notes that the lease was begun by a request sent at a time. Without a lease, the session takes its place: see
// [Term]. Then a touch only asks which messages are to be cancelled.
func (l *lease) renewed(sent time.Time, lasts, askEvery time.Duration) {
	l.until, l.touchAt = time.Time{}, sent.Add(askEvery)
	if lasts > 0 {
		l.until, l.touchAt = sent.Add(lasts-margin(lasts)), sent.Add(lasts/3)
	}
}

// over reports whether the lease may be over.
func (l *lease) over(now time.Time) bool { return !l.until.IsZero() && now.After(l.until) }

// LongEnough is a lease, or a longer one if the way to Redis needs it: a worker whose touches come too late would lose each
// batch, and go on so for ever.
func LongEnough(ctx context.Context, rdb redis.UniversalClient, lease time.Duration, log *zap.Logger) time.Duration {
	trip := cluster.RoundTrip(ctx, rdb)
	least := leastLease(trip)
	if lease >= least {
		return lease
	}
	log.Warn("the lease is too short for the way to Redis, and is made longer", zap.Duration("lease", lease),
		zap.Duration("longer", least), zap.Duration("roundTrip", trip))
	return least
}

// leastLease is a lease in which the answer to a touch comes in time, even if it takes as long as four round trips: it may have to
// connect first.
func leastLease(trip time.Duration) time.Duration {
	late := 4 * trip
	return max(3*(late+margin(0))/2, late*30/17).Round(time.Millisecond) // late <= 2/3 of it - margin
}
