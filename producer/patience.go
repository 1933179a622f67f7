package producer

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/silence"
)

// A call whose context has no deadline waits for an answer a moment longer than the client does, which waits 5 s unless
// you set it. So if a request failed, the call can say why.
const (
	readTimeout = 5 * time.Second
	momentMore  = time.Second
)

// sendTimeoutOf is 0, for ever, for a client that is to wait for ever.
func sendTimeoutOf(rdb redis.UniversalClient, cfg Config) time.Duration {
	read := readTimeout
	switch c := rdb.(type) {
	case *redis.Client:
		read = c.Options().ReadTimeout
	case *redis.ClusterClient:
		read = c.Options().ReadTimeout
	}
	if read <= 0 {
		return 0
	}
	read = max(read, retryFor) // else a send would end before its last try
	if cfg.Durability.Replicas > 0 {
		read += cfg.Durability.Timeout
	}
	return read + momentMore
}

// patience is that of one call. Other goroutines do what it waits for, for all callers.
type patience struct {
	*shared
	ctx   context.Context
	begun time.Duration // the last waiting without a deadline, since epoch
	over  bool          // nothing more is waited for
}

func (s *shared) waits(ctx context.Context) patience { return patience{shared: s, ctx: ctx} }

// wait returns when done is closed, or with an error when ctx has ended. If that has no deadline, it also ends after a
// while without any progress. Callers that wait for the same thing share an alarm: the first of them set it, so it goes
// off before any other has waited too long. A timer for each call would cost a fifth of a send.
func (p *patience) wait(done, alarm <-chan struct{}) error {
	if isClosed(done) {
		return nil
	}
	if _, bounded := p.ctx.Deadline(); bounded || p.sendTimeout <= 0 {
		alarm = nil
	} else if p.over {
		return p.silence()
	} else {
		p.begun = time.Since(epoch)
	}
	select {
	case <-done:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	case <-alarm:
		return p.waitOn(done)
	}
}

// waitOn waits for the rest of that time, with a timer of the call's own.
func (p *patience) waitOn(done <-chan struct{}) error {
	timer := time.NewTimer(p.begun + p.sendTimeout - time.Since(epoch))
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-p.ctx.Done():
		return p.ctx.Err()
	case <-timer.C:
		p.over = true
		return p.silence()
	}
}

// rung is an alarm for what only one call waits for.
var rung = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// silence is the error that a deadline would have brought, and says which server the call has
// waited for.
func (p *patience) silence() error {
	return &silence.Error{Server: silence.Server(p.rdb), Within: p.sendTimeout, Err: context.DeadlineExceeded}
}
