package gateway

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/cluster"
)

// livez says that the process works.
func (c *call) livez() error { return c.say(http.StatusOK, "ok") }

// probePatience is how long Redis may take. A probe of Kubernetes waits for 1 s by default.
const probePatience = 800 * time.Millisecond

// readyz says whether requests can be answered: Redis answers, or of a Cluster a master does, and the gateway is not
// being stopped.
func (c *call) readyz() error {
	if c.closing.Err() != nil {
		return c.say(http.StatusServiceUnavailable, "this gateway is being stopped")
	}
	ctx, cancel := context.WithTimeout(c.ctx(), probePatience)
	defer cancel()
	answered := make(chan error, 1)
	go func() { // a client that repeats a command may not look at ctx at once
		answered <- cluster.Ask(ctx, c.cfg.Redis, func(ctx context.Context, server redis.UniversalClient) error { return server.Ping(ctx).Err() })
	}()
	var err error
	select {
	case err = <-answered:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil && !redis.HasErrorPrefix(err, "NOPERM") { // then it answers
		return c.say(http.StatusServiceUnavailable, "Redis does not answer: "+plain(err))
	}
	return c.say(http.StatusOK, "ok")
}

// say answers a probe.
func (c *call) say(status int, text string) error {
	c.begun = true
	h := c.w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	c.w.WriteHeader(status)
	_, err := io.WriteString(c.w, text+"\n")
	return err
}
