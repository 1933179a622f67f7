package servertest

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// Memory starts an in-memory server for this test, with a client. Its TIME follows
// the wall clock until SetTime, then stands still; keys expire by FastForward only.
func Memory(t testing.TB) (*miniredis.Miniredis, *redis.Client) {
	t.Helper()
	mini := miniredis.RunT(t)
	return mini, newClient(t, mini.Addr(), "", nil)
}
