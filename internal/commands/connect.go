package commands

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/redisurl"
	"github.com/slotmq/go-rmq/internal/silence"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/slots"
)

// What go-redis has to say is in its errors, too.
func init() { logging.Disable() }

// inspector connects, and checks that the server answers. It may be called again.
func (a *app) inspector(ctx context.Context) (*inspector.Inspector, error) {
	connected := a.rdb != nil
	i, err := a.connect()
	if err != nil || connected {
		return i, err
	}
	return i, a.greet(ctx)
}

// connect does no I/O yet.
func (a *app) connect() (*inspector.Inspector, error) {
	if a.rdb == nil {
		rdb, err := redisurl.Open(flagOrEnv(a.redis, "RMQ_REDIS", "redis://localhost:6379"))
		if err != nil {
			return nil, misused("the URL of Redis (--redis or RMQ_REDIS): %w", err)
		}
		a.rdb = rdb
		a.Patience = max(a.Patience, cluster.ReadTimeout(rdb)) // else it ended before the client does
	}
	cfg := inspector.Config{Namespace: a.space(), Journal: a.toTell()}
	if keeper := a.zooKeeperConfig(); keeper.Servers != nil {
		cfg.Slots = slots.ZooKeeper(keeper)
	}
	return inspector.New(a.rdb, cfg)
}

// topic connects, and looks the topic up.
func (a *app) topic(ctx context.Context, name string) (*inspector.Inspector, inspector.Topic, error) {
	i, err := a.inspector(ctx)
	if err != nil {
		return nil, inspector.Topic{}, err
	}
	t, err := i.Topic(ctx, name)
	return i, t, err
}

// greet checks that the server answers, so that all commands report a wrong address at
// once, and in the same words.
func (a *app) greet(ctx context.Context) error {
	err := a.ask(ctx, func(ctx context.Context, server redis.UniversalClient) error { return server.Ping(ctx).Err() })
	if err == nil || redis.HasErrorPrefix(err, "NOPERM") { // it answers, and the command may do without
		return nil
	}
	silent := &silence.Error{Server: silence.Server(a.rdb), Err: err}
	if errors.Is(err, context.DeadlineExceeded) {
		silent.Within = a.Patience
	}
	return silent
}

// ask puts a question to the server, or to all masters of a Cluster: one that hangs must not
// hide what the others have.
func (a *app) ask(ctx context.Context, question func(ctx context.Context, server redis.UniversalClient) error) error {
	ctx, cancel := context.WithTimeout(ctx, a.Patience)
	defer cancel()
	for {
		err := cluster.Ask(ctx, a.rdb, question)
		var late net.Error
		if !errors.As(err, &late) || !late.Timeout() || ctx.Err() != nil {
			return err
		}
	}
}

// zooKeeperConfig is how ZooKeeper is reached; without servers if it is not given.
func (a *app) zooKeeperConfig() (cfg slots.ZooKeeperConfig) {
	if servers := flagOrEnv(a.zk, "RMQ_ZK", ""); servers != "" {
		cfg = slots.ZooKeeperConfig{
			Servers: strings.Split(servers, ","),
			Root:    flagOrEnv(a.zkRoot, "RMQ_ZK_ROOT", ""),
			Auth:    flagOrEnv(a.zkAuth, "RMQ_ZK_AUTH", ""),
		}
	}
	return cfg
}

// qualified is a topic with its namespace in front, as the journal has it.
func (a *app) qualified(topic string) string { return luascripts.Qualify(a.space(), topic) }

// bare is a topic without it.
func (a *app) bare(topic string) string { return strings.TrimPrefix(topic, a.qualified("")) }

// space is the namespace.
func (a *app) space() string { return flagOrEnv(a.namespace, "RMQ_NAMESPACE", "") }

// now is the time of the server, or the latest of those that answer, to say how long ago
// something was.
func (a *app) now(ctx context.Context) (latest time.Time, err error) {
	var mu sync.Mutex
	err = a.ask(ctx, func(ctx context.Context, server redis.UniversalClient) error {
		now, err := server.Time(ctx).Result()
		mu.Lock()
		defer mu.Unlock()
		if now.After(latest) {
			latest = now
		}
		return err
	})
	return latest, err
}
