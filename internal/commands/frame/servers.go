package frame

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
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/redisurl"
	"github.com/slotmq/go-rmq/internal/servers/silence"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/slots"
)

// What go-redis has to say is in its errors, too.
func init() { logging.Disable() }

// Servers are those of a call: Redis, ZooKeeper and the database of a journal.
type Servers struct {
	Journals

	redis, zk, zkRoot, zkAuth, namespace string // flags

	rdb redis.UniversalClient // nil until a command connects

	// Inspector looks at what Redis has. What it changes goes to the journal, too, if that was opened
	// before.
	Inspector *inspector.Inspector
}

// Connect connects, and checks that the server answers. It may be called again.
func (s *Servers) Connect(ctx context.Context) error {
	connected := s.rdb != nil
	if err := s.Open(); err != nil || connected {
		return err
	}
	return s.Greet(ctx)
}

// Redis connects, too.
func (s *Servers) Redis(ctx context.Context) (redis.UniversalClient, error) {
	err := s.Connect(ctx)
	return s.rdb, err
}

// RedisAt is where Redis is, without user and password. It is known when a command has connected.
func (s *Servers) RedisAt() string { return silence.Server(s.rdb) }

// Open does no I/O yet.
func (s *Servers) Open() (err error) {
	if s.rdb == nil {
		rdb, err := redisurl.Open(flagOrEnv(s.redis, "RMQ_REDIS", "redis://localhost:6379"))
		if err != nil {
			return Misused("the URL of Redis (--redis or RMQ_REDIS): %w", err)
		}
		s.rdb = rdb
		s.Patience = max(s.Patience, cluster.ReadTimeout(rdb)) // else it ended before the client does
	}
	cfg := inspector.Config{Namespace: s.Namespace(), Journal: s.toTell()}
	if keeper := s.ZooKeeper(); keeper.Servers != nil {
		cfg.Slots = slots.ZooKeeper(keeper)
	}
	s.Inspector, err = inspector.New(s.rdb, cfg)
	return err
}

// OneRedis reports whether Redis is one server, and no Cluster.
func (s *Servers) OneRedis() bool { return !cluster.IsCluster(s.rdb) }

// Greet checks that the server answers, so that all commands report a wrong address at
// once, and in the same words.
func (s *Servers) Greet(ctx context.Context) error {
	err := s.ask(ctx, func(ctx context.Context, server redis.UniversalClient) error { return server.Ping(ctx).Err() })
	if err == nil || redis.HasErrorPrefix(err, "NOPERM") { // it answers, and the command may do without
		return nil
	}
	silent := &silence.Error{Server: s.RedisAt(), Err: err}
	if errors.Is(err, context.DeadlineExceeded) {
		silent.Within = s.Patience
	}
	return silent
}

// ask puts a question to the server, or to all masters of a Cluster: one that hangs must not
// hide what the others have.
func (s *Servers) ask(ctx context.Context, question func(ctx context.Context, server redis.UniversalClient) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	for {
		err := cluster.Ask(ctx, s.rdb, question)
		var late net.Error
		if !errors.As(err, &late) || !late.Timeout() || ctx.Err() != nil {
			return err
		}
	}
}

// Time is the time of the server, or the latest of those that answer, to say how long ago
// something was.
func (s *Servers) Time(ctx context.Context) (latest time.Time, err error) {
	var mu sync.Mutex
	err = s.ask(ctx, func(ctx context.Context, server redis.UniversalClient) error {
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

// ZooKeeper is how it is reached; without servers if it is not given.
func (s *Servers) ZooKeeper() (cfg slots.ZooKeeperConfig) {
	if servers := flagOrEnv(s.zk, "RMQ_ZK", ""); servers != "" {
		cfg = slots.ZooKeeperConfig{
			Servers: strings.Split(servers, ","),
			Root:    flagOrEnv(s.zkRoot, "RMQ_ZK_ROOT", ""),
			Auth:    flagOrEnv(s.zkAuth, "RMQ_ZK_AUTH", ""),
		}
	}
	return cfg
}

// Namespace is that of the topics.
func (s *Servers) Namespace() string { return flagOrEnv(s.namespace, "RMQ_NAMESPACE", "") }

// Qualified is a topic with its namespace in front, as the journal has it.
func (s *Servers) Qualified(topic string) string { return protocol.Qualify(s.Namespace(), topic) }

// Bare is a topic without its namespace.
func (s *Servers) Bare(topic string) string { return strings.TrimPrefix(topic, s.Qualified("")) }

// StandAlone makes everything use a Redis of its own and no journal, whatever the environment says. If a flag names
// another Redis, it returns that flag.
func (s *Servers) StandAlone(url string) (against string) {
	switch {
	case s.redis != "":
		return "--redis"
	case s.journalURL != "":
		return "--journal"
	}
	s.redis, s.Databases = url, nil
	return ""
}

// Producer sends, in the namespace. What it sends goes to the journal, too, if that was
// opened.
func (s *Servers) Producer(ctx context.Context, cfg producer.Config) (*producer.Producer, error) {
	rdb, err := s.Redis(ctx)
	if err != nil {
		return nil, err
	}
	cfg.Namespace, cfg.Journal = s.Namespace(), s.toTell()
	return producer.New(rdb, cfg)
}
