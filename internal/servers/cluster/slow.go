package cluster

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// slow is how long a request to a server of a Cluster may take before that is
// suspicious.
const slow = 500 * time.Millisecond

// WhileSlow reloads the cluster map again and again while a request takes long, until
// stop is called. A server that hangs answers nothing and breaks no connection, so we
// would learn only after the request's time-out that another one has taken its place.
// Each of noticed is called when the request does take long.
func WhileSlow(ctx context.Context, rdb redis.UniversalClient, noticed ...func()) (stop func()) {
	c, many := rdb.(client)
	if !many {
		return func() {}
	}
	var mu sync.Mutex
	var timer *time.Timer
	stopped := false
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(slow, func() {
		mu.Lock()
		defer mu.Unlock()
		if !stopped {
			for _, f := range noticed {
				f()
			}
			reload(ctx, c)
			timer.Reset(slow)
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		timer.Stop()
	}
}

// Reloads under way in this process, and when each client began its last.
var (
	reloads     = make(chan struct{}, 64)
	lastReloads sync.Map // client -> *atomic.Int64, since epoch
)

// reload asks the Cluster's servers for its masters, in the background. The client asks
// any server that it knows. If that one hangs, the client waits for seconds, and
// ReloadState does nothing until then. So this is tried several times at once.
func reload(ctx context.Context, c client) {
	const gap = 50 * time.Millisecond
	kept, _ := lastReloads.LoadOrStore(c, new(atomic.Int64))
	began := kept.(*atomic.Int64)
	last, now := began.Load(), int64(time.Since(epoch))
	if now-last < int64(gap) || !began.CompareAndSwap(last, now) {
		return
	}
	select {
	case reloads <- struct{}{}:
	default:
		return
	}
	go func() {
		defer func() { <-reloads }()
		_ = c.ForEachMaster(ctx, func(context.Context, *redis.Client) error { return nil })
	}()
}

var epoch = time.Now().Add(-time.Hour)
