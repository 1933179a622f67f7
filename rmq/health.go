package rmq

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// Health returns why this client cannot do its work now; nil if it can. It asks Redis with a
// PING, and waits for the answer until ctx ends. Of a Cluster, one master that answers is
// enough. The plans that the client has declared, and Redis has lost, must have been set again at the
// last look. A client that listens to topics must also have started and not be closing, Redis
// must have answered its turns or its looks at the slots within twice the SafetyLook, and with
// ZooKeeper it must have a session that lets it begin handlers.
//
// It is for a readiness probe: see package rmqhttp.
func (c *Client) Health(ctx context.Context) error {
	if ctx == nil {
		return errors.New("health: ctx is nil")
	}
	if err := c.consumer.Health(); err != nil {
		return fmt.Errorf("health: %w", err)
	}
	if err := wait.For(ctx, func(ctx context.Context) error { return cluster.Ask(ctx, c.rdb, ping) }); err != nil {
		return fmt.Errorf("health: Redis does not answer: %w", err)
	}
	if err := c.declared.health(); err != nil {
		return fmt.Errorf("health: %w", err)
	}
	return nil
}

// ping is nil also if the Redis user may not send PING: that is an answer.
func ping(ctx context.Context, server redis.UniversalClient) error {
	err := server.Ping(ctx).Err()
	if redis.HasErrorPrefix(err, "NOPERM") {
		return nil
	}
	return err
}

// Alive returns an error if the client is stuck for good, and only a new start of its process
// helps. It is stuck if what asks Redis for messages has been busy with something else for
// 30 s, such as an observer that blocks, or if its goroutine was ended. Redis, ZooKeeper,
// handlers and the log never make it fail, however long they hang. It does not wait.
//
// It is for a liveness probe: see package rmqhttp.
func (c *Client) Alive() error {
	if err := c.consumer.Alive(); err != nil {
		return fmt.Errorf("alive: %w", err)
	}
	return nil
}
