package workers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/rmq"
)

// ReportedKey is a list of the deaths that were reported to workers that listen to the dead:
// content and ms.
const ReportedKey = "reported"

// noteDeath writes a death down, in some milliseconds, so that kills hit it.
func noteDeath(rdb redis.UniversalClient) func(context.Context, *rmq.Death) error {
	return func(ctx context.Context, d *rmq.Death) error {
		pass(rand.N(3 * time.Millisecond))
		err := rdb.RPush(ctx, ReportedKey, fmt.Sprintf("%s@%d", d.Content, d.At.UnixMilli())).Err()
		pass(rand.N(3 * time.Millisecond))
		return err
	}
}

// pass lets time pass, as work does that nothing ends early.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}
