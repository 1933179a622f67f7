package gateway

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
)

// livez says that the process works.
func livez(c *call) error { return say(c, http.StatusOK, "ok") }

// probePatience is how long Redis may take. A probe of Kubernetes waits for 1 s by default.
const probePatience = 800 * time.Millisecond

// readyz says whether requests can be answered: Redis answers, or of a Cluster a master does, and the gateway is not
// being stopped.
func readyz(c *call) error {
	if c.closing.Err() != nil {
		return say(c, http.StatusServiceUnavailable, "this gateway is being stopped")
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
		return say(c, http.StatusServiceUnavailable, "Redis does not answer: "+problem.Plain(err))
	}
	return say(c, http.StatusOK, "ok")
}

// say answers a probe.
func say(c *call, status int, text string) error {
	c.begin("text/plain; charset=utf-8", status)
	_, err := io.WriteString(c.w, text+"\n")
	return err
}
