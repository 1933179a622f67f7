package rmq

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/redisinfo"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

func TestCheckInfo(t *testing.T) {
	t.Parallel()
	const master = "# Server\r\nredis_version:7.0.15\r\n# Memory\r\nmaxmemory_policy:noeviction\r\n# Replication\r\nrole:master\r\n"
	for _, c := range []struct{ info, says string }{
		{"", ""},
		{master, ""},
		{strings.ReplaceAll(master, "7.0.15", "6.2.0"), ""},
		{strings.ReplaceAll(master, "7.0.15", "10.0.1"), ""},
		{strings.ReplaceAll(master, "7.0.15", "unstable"), ""},
		{strings.ReplaceAll(master, "7.0.15", "255.255.255"), ""},
		{strings.ReplaceAll(master, "7.0.15", "6.0.16"), "6.0.16; RMQ needs 7.0 or newer, or 6.2"},
		{strings.ReplaceAll(master, "7.0.15", "5.0.14"), "5.0.14; RMQ needs 7.0 or newer, or 6.2"},
		{strings.ReplaceAll(master, "noeviction", "allkeys-lru"), "maxmemory-policy noeviction"},
		{strings.ReplaceAll(master, "noeviction", "volatile-ttl"), "(maxmemory-policy volatile-ttl)"},
		{strings.ReplaceAll(master, "noeviction", "allkeys-random"), "(maxmemory-policy allkeys-random)"},
		{strings.ReplaceAll(master, "role:master", "role:slave"), "read-only replica"},
		{"redis_version:6.0.0", "needs 7.0 or newer, or 6.2"},
		{"some other server\nrole\nrole:sentinel", ""},
	} {
		err := checkInfo(redisinfo.Parse(c.info))
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%q: %v, want %q", c.info, err, c.says)
		}
	}
}

// start starts a client with one topic on rdb.
func start(t *testing.T, rdb *redis.Client) error {
	t.Helper()
	c, err := New(Config{Redis: rdb})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, c.Close(context.Background())) })
	must.Do(t, c.Listen(Topic{Name: "orders", Kind: KindPriority}, ListenerFunc(func(context.Context, *Delivery) error { return nil }), ListenOptions{}))
	return c.Start(await.Context(t))
}

// Real servers that would lose messages, or refuse to work, are refused; the
// error says what to do.
func TestServersAreChecked(t *testing.T) {
	t.Parallel()
	impatient := func(o *redis.Options) { o.DialerRetries, o.MaxRetries = 1, -1 }
	says := func(err error, text string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q", err, text)
		}
	}
	must.Do(t, start(t, servertest.Redis(t, "--maxmemory-policy", "noeviction", "--maxmemory", "100mb").Client(t)))
	says(start(t, servertest.Redis(t, "--maxmemory-policy", "allkeys-lru").Client(t)), "set maxmemory-policy noeviction")

	master := servertest.Redis(t)
	host, port, _ := strings.Cut(master.Addr(), ":")
	says(start(t, servertest.Redis(t, "--replicaof", host+" "+port).Client(t)), "read-only replica")

	locked := servertest.Redis(t, "--requirepass", "secret")
	must.Do(t, start(t, locked.Client(t)))
	says(start(t, locked.Client(t, func(o *redis.Options) { o.Password = "wrong" })), "mend Username and Password of the Redis client: ping the Redis server: WRONGPASS")
	says(start(t, locked.Client(t, func(o *redis.Options) { o.Password = "" })), "set Password of the Redis client")

	rdb := master.Client(t)
	must.Do(t, rdb.Do(context.Background(), "acl", "setuser", "blind", "on", ">x", "~*", "&*", "+@all", "-info").Err())
	must.Do(t, rdb.Do(context.Background(), "acl", "setuser", "mute", "on", ">x", "~*", "&*", "+@all", "-eval", "-evalsha").Err())
	as := func(user string) *redis.Client {
		return master.Client(t, func(o *redis.Options) { o.Username, o.Password = user, "x" })
	}
	says(start(t, as("blind")), `grant Redis user "blind" +info`)
	says(start(t, as("mute")), `grant Redis user "mute" +evalsha`)

	gone := servertest.Redis(t)
	gone.Kill()
	says(start(t, gone.Client(t, impatient)), "Redis does not answer")
}
