package gatewaytest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
)

// balance listens at a port, and passes each connection on to the next of some addresses that takes it, as a load
// balancer would. It returns where it listens.
func balance(t testing.TB, to ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	var pipes sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		pipes.Wait()
	})
	var next atomic.Int64
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			pipes.Go(func() { pass(from, to, int(next.Add(1))) })
		}
	}()
	return l.Addr().String()
}

func pass(from net.Conn, to []string, first int) {
	defer from.Close()
	for n := range to {
		c, err := net.Dial("tcp", to[(first+n)%len(to)])
		if err != nil {
			continue
		}
		var both sync.WaitGroup
		for _, ends := range [][2]net.Conn{{from, c}, {c, from}} {
			both.Go(func() {
				_, _ = io.Copy(ends[1], ends[0]) // until one of them goes
				from.Close()
				c.Close()
			})
		}
		both.Wait()
		return
	}
}
