package fleet

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/internal/sharing/keeper"
)

// A worker that is cut off from Redis still has its session with ZooKeeper. So it would keep
// its slots, and nothing in them would move. It gives them up when Redis has not answered it
// for two session timeouts, but has answered others: see keeper.Member.Alone. It cancels its
// handlers first, whose results it could not report, and ends its session when they have
// returned. It comes back with a new session when Redis answers it.

// ErrCutOff is why a worker has given its slots up.
var ErrCutOff = errors.New("Redis answers other workers, and has not answered this one for two session timeouts")

// answers are those of Redis to this worker, from any server.
type answers struct {
	*parts
	begun   time.Time
	last    atomic.Int64 // to a PING; since begun
	timeout atomic.Int64 // of the session
}

// askTimeout is how long a PING waits for its answer.
const askTimeout = time.Second

// quiet is how long ago the last answer was.
func (a *answers) quiet() time.Duration {
	return min(a.Life.Unheard(), time.Since(a.begun)-time.Duration(a.last.Load()))
}

// keep asks Redis whenever it has not answered for a quarter of the session timeout, until
// all slots are left: a worker with nothing to do has few turns.
func (a *answers) keep() {
	for {
		timeout := time.Duration(a.timeout.Load())
		pause := timeout/4 - a.quiet()
		if pause <= 0 {
			a.ask()
			if pause = timeout/4 - a.quiet(); pause <= 0 {
				pause = min(timeout/8, askTimeout)
			}
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
			continue
		case <-a.schedule.Done():
		case <-a.Life.Requests.Done():
		}
		timer.Stop()
		return
	}
}

// ask sends a PING to the server, or to all masters of a Cluster. Any reply is an answer, but
// for those of a server that is not ready for questions.
func (a *answers) ask() {
	ctx, cancel := context.WithTimeout(a.Life.Requests, askTimeout)
	defer cancel()
	_ = wait.For(ctx, func(ctx context.Context) error {
		return cluster.Each(ctx, a.Redis, func(ctx context.Context, _ string, server redis.UniversalClient) {
			err := server.Ping(ctx).Err()
			if reply := (redis.Error)(nil); err == nil || errors.As(err, &reply) && !cluster.NotReady(err) {
				a.last.Store(int64(time.Since(a.begun)))
			}
		})
	})
}

// await waits for an answer, and returns false if the worker closes before.
func (a *answers) await() bool {
	since := time.Now()
	for time.Since(since) <= a.quiet() {
		if !wait.Sleep(a.Life.Background, trustEvery) {
			return false
		}
	}
	return true
}

// unlessAlone does something that needs Redis at the start. It gives up when the worker is
// cut off.
func (a *answers) unlessAlone(ctx context.Context, m *keeper.Member, do func(context.Context) error) error {
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-m.Alone():
			cancel(ErrCutOff)
		case <-within.Done():
		}
	}()
	err := wait.For(within, do)
	if err != nil && errors.Is(context.Cause(within), ErrCutOff) {
		return ErrCutOff
	}
	return err
}

// endCutOff ends a term whose handlers were cancelled, and whose session lives. It waits until
// they have returned, but no longer than a session timeout: as long as they would have if the
// session were lost. Then others may take over what is in hand.
func (s *session) endCutOff() {
	late := time.NewTimer(s.member.Timeout())
	defer late.Stop()
	ticker := time.NewTicker(trustEvery)
	defer ticker.Stop()
	s.offer()
	for over := false; !over && s.schedule.Terms.Handling(s.term); {
		select {
		case <-ticker.C:
		case <-late.C:
			over = true
		case <-s.member.Lost():
			over = true
		case <-s.schedule.Done(): // Close waits no longer
			s.member.Abandon()
			return
		}
	}
	s.member.Close()
}
