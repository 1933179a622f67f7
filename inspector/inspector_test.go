package inspector

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

func TestNewValidates(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{})
	defer rdb.Close()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer ring.Close()
	zoo := func(c slots.ZooKeeperConfig) Config { return Config{Namespace: "shop", Slots: slots.ZooKeeper(c)} }
	for _, c := range []struct {
		name  string
		rdb   redis.UniversalClient
		cfg   Config
		field string
	}{
		{"nil", nil, Config{}, "Redis client"},
		{"nil client", (*redis.Client)(nil), Config{}, "Redis client"},
		{"nil client of a Cluster", (*redis.ClusterClient)(nil), Config{}, "Redis client"},
		{"ring", ring, Config{}, "Redis client"},
		{"namespace", rdb, Config{Namespace: "a/b"}, "Namespace"},
		{"ZooKeeper", rdb, zoo(slots.ZooKeeperConfig{}), "ZooKeeperConfig.Servers"},
		{"namespace with ZooKeeper", rdb, Config{Namespace: "meta", Slots: slots.ZooKeeper(slots.ZooKeeperConfig{Servers: []string{"h:1"}})}, "Config.Namespace"},
	} {
		_, err := New(c.rdb, c.cfg)
		var invalid *message.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != c.field || !strings.HasPrefix(err.Error(), "new inspector: ") {
			t.Errorf("%s: %v, want an InvalidError about %s", c.name, err, c.field)
		}
	}
	for _, cfg := range []Config{{}, {Namespace: "shop"}, zoo(slots.ZooKeeperConfig{Servers: []string{"h:1"}})} {
		if _, err := New(rdb, cfg); err != nil {
			t.Error(err)
		}
	}
}
