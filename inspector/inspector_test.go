package inspector

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/doctor"
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
		Redis redis.UniversalClient
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
		_, err := New(c.Redis, c.cfg)
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

// Every method that takes a context refuses a nil one, and says which it was.
func TestNilContext(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer rdb.Close()
	i := newInspector(t, rdb, Config{})
	seen := map[string]bool{}
	of := reflect.ValueOf(i)
	for n := range of.NumMethod() {
		name, kind := of.Type().Method(n).Name, of.Method(n).Type()
		if kind.NumIn() == 0 || kind.In(0) != reflect.TypeFor[context.Context]() {
			continue
		}
		args := make([]reflect.Value, kind.NumIn())
		for k := range args {
			args[k] = reflect.New(kind.In(k)).Elem() // zero values
		}
		var err error
		for _, result := range of.Method(n).Call(args) {
			switch result := result.Interface().(type) {
			case error:
				err = result
			case iter.Seq2[Entry, error]:
				for _, err = range result {
				}
			case []doctor.Check:
				err = errors.New(result[0].Detail)
			}
		}
		operation, problem, found := strings.Cut(fmt.Sprint(err), ": ")
		if !found || problem != "ctx is nil" || len(operation) < 4 || seen[operation] {
			t.Errorf("%s: %v", name, err)
		}
		seen[operation] = true
	}
	if len(seen) < 18 {
		t.Errorf("only %d methods were called", len(seen))
	}
}
