package keeper

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/message"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	good := Config{Servers: []string{"zk1:2181", "[::1]:2181"}}
	for field, spoil := range map[string][]func(*Config){
		"Servers": {
			func(c *Config) { c.Servers = nil },
			func(c *Config) { c.Servers = []string{"zk1"} },
			func(c *Config) { c.Servers = []string{"zk1:2181,zk2:2181"} },
			func(c *Config) { c.Servers = []string{"zk1:2181/chroot"} },
			func(c *Config) { c.Servers = []string{"zk1:2181", ""} },
			func(c *Config) { c.Servers = []string{":2181"} },
			func(c *Config) { c.Servers = []string{"zk1:0"} },
			func(c *Config) { c.Servers = []string{"zk1:70000"} },
		},
		"SessionTimeout": {
			func(c *Config) { c.SessionTimeout = 10 },
			func(c *Config) { c.SessionTimeout = -time.Second },
			func(c *Config) { c.SessionTimeout = 2 * time.Hour },
		},
		"Root": {
			func(c *Config) { c.Root = "rmq" },
			func(c *Config) { c.Root = "/rmq/" },
			func(c *Config) { c.Root = "//rmq" },
			func(c *Config) { c.Root = "/a/../b" },
			func(c *Config) { c.Root = "/a\x00" },
			func(c *Config) { c.Root = "/zookeeper/rmq" },
			func(c *Config) { c.Root = "/" + strings.Repeat("r", 1000) },
		},
		"Auth": {
			func(c *Config) { c.Auth = "rmq" },
			func(c *Config) { c.Auth = ":hidden" },
			func(c *Config) { c.Auth = "hidden:" },
		},
		"Weight": {
			func(c *Config) { c.Weight = -1 },
			func(c *Config) { c.Weight = 0.001 },
			func(c *Config) { c.Weight = math.NaN() },
			func(c *Config) { c.Weight = math.Inf(1) },
		},
	} {
		for i, f := range spoil {
			c := good
			f(&c)
			err := New(c).Validate("")
			var invalid *message.InvalidError
			if !errors.As(err, &invalid) || invalid.Field != "ZooKeeperConfig."+field {
				t.Errorf("%s %d: %v", field, i, err)
			} else if strings.Contains(err.Error(), "hidden") {
				t.Errorf("the error shows the password: %v", err)
			}
			if _, err := New(c).Join(await.Context(t), worker()); !errors.As(err, &invalid) {
				t.Errorf("%s %d: Join: %v", field, i, err)
			}
		}
	}
	for _, root := range []string{"", "/", "/rmq", "/apps/rmq-2", "/应用", "/zookeepers"} {
		c := good
		c.Root = root
		if err := New(c).Validate(""); err != nil {
			t.Error(err)
		}
	}
	if c := New(good).cfg; c.SessionTimeout != 10*time.Second || c.Root != "/rmq" || c.Weight != 1 || c.Dialer == nil {
		t.Errorf("defaults: %+v", c)
	}
}

func TestReservedNamespaces(t *testing.T) {
	t.Parallel()
	nowhere := Config{Servers: []string{"127.0.0.1:1"}}
	refused := func(what, name string, err error) {
		t.Helper()
		var invalid *message.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "Config.Namespace" || !strings.Contains(invalid.Value, name) {
			t.Errorf("%s %s: %v", what, name, err)
		}
	}
	for _, name := range ownNames {
		k, w := New(nowhere), worker()
		refused("validate", name, k.Validate(name))
		w.Namespace = name
		_, err := k.Join(await.Context(t), w)
		refused("join", name, err)
		refused("remove", name, k.Remove(await.Context(t), name)) // it would be all of the tree without a namespace
	}
	nowhere.Root = "/"
	refused("below /:", "zookeeper", New(nowhere).Validate("zookeeper"))
	if err := New(nowhere).Validate("shop"); err != nil {
		t.Error(err)
	}
}
