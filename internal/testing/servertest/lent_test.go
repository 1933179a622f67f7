package servertest

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// What one test has left, the next does not find, and it is the same server.
func TestLentServersAreEmpty(t *testing.T) {
	for name, take := range map[string]func(testing.TB) (redis.UniversalClient, string){
		"redis": func(t testing.TB) (redis.UniversalClient, string) {
			s := LentRedis(t)
			return s.Client(t), s.Addr()
		},
		"cluster": func(t testing.TB) (redis.UniversalClient, string) {
			c := LentCluster(t)
			return c.Client(t), c.Nodes()[0].Addr()
		},
	} {
		addrs := map[string]bool{}
		for range 3 {
			t.Run(name, func(t *testing.T) {
				rdb, addr := take(t)
				addrs[addr] = true
				ctx := t.Context()
				for _, key := range []string{"a", "b", "c"} { // on three masters
					if n, err := rdb.Incr(ctx, key).Result(); n != 1 || err != nil {
						t.Errorf("%s is %d, %v", key, n, err)
					}
					sub := rdb.Subscribe(ctx, key)
					t.Cleanup(func() { _ = sub.Close() })
					if _, err := sub.Receive(ctx); err != nil {
						t.Error(err)
					}
				}
			})
		}
		if len(addrs) != 1 {
			t.Errorf("%s: %v", name, addrs)
		}
	}
}

// A test that changes what stays is told so, and the next has another server.
func TestLentServersAreNotChanged(t *testing.T) {
	for name, change := range map[string][]any{
		"configuration": {"config", "set", "maxmemory", "1gb"}, "users": {"acl", "setuser", "x"},
	} {
		l := lending(startLentRedis)
		one, err := l.next(t)
		if err != nil {
			t.Fatal(err)
		}
		addr := one[0].Addr()
		if err := one[0].Client(t).Do(t.Context(), change...).Err(); err != nil {
			t.Fatal(err)
		}
		if err := l.back(one); err == nil {
			t.Errorf("%s: nothing is said", name)
		}
		if other, err := l.next(t); err != nil || other[0].Addr() == addr {
			t.Errorf("%s: %v", name, err)
		} else if err := l.back(other); err != nil {
			t.Error(err)
		}
	}
}
