package servertest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Nobody is an address of this machine at which nothing listens, until the test lets something listen there. Its host is
// one of the many of 127.0.0.0/8 that no other test has: a port of 127.0.0.1 would soon be given to another.
func Nobody(t testing.TB) (addr string) {
	t.Helper()
	host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
