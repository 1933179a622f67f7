package silence

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
)

// asked is the error of a client whose server does something with each connection.
func asked(t *testing.T, serve func(net.Conn)) (at string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serve(conn)
		}
	}()
	return ask(t, &redis.Options{Addr: listener.Addr().String()})
}

func ask(t *testing.T, o *redis.Options) (at string, err error) {
	o.MaxRetries, o.DialerRetries, o.Protocol, o.DisableIdentity = -1, 1, 2, true
	rdb := redis.NewClient(o)
	t.Cleanup(func() { rdb.Close() })
	err = Explain(rdb, rdb.Ping(await.Context(t)).Err())
	return o.Addr, err
}

func TestWhereAndWhy(t *testing.T) {
	t.Parallel()
	says := func(at string, err error, why string) {
		t.Helper()
		silent := (*Error)(nil)
		if want := "Redis does not answer at " + at + why; err == nil || err.Error() != want || !errors.As(err, &silent) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	at, err := ask(t, &redis.Options{Addr: "127.0.0.1:1"})
	says(at, err, ": connection refused")
	at, err = asked(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 100)) // else the client may find it reset
		conn.Close()
	})
	says(at, err, ": the connection was closed, as by a restart, or by a proxy that does not know the command")
	at, err = asked(t, func(conn net.Conn) {
		for {
			if _, err := conn.Read(make([]byte, 100)); err != nil {
				return
			}
			_, _ = conn.Write([]byte("-ERR no\r\n"))
		}
	})
	if err == nil || err.Error() != "ERR no" {
		t.Errorf("an answer of %s: %v", at, err)
	}
	says("here", &Error{Server: "here", Within: 5 * time.Second, Err: context.DeadlineExceeded}, " within 5s")
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"a:1", "b:2"}})
	defer rdb.Close()
	says("a:1, b:2", Explain(rdb, context.DeadlineExceeded), ": context deadline exceeded")
	for _, other := range []error{nil, context.Canceled, redis.ErrPoolTimeout, redis.Nil} {
		if got := Explain(rdb, other); got != other {
			t.Errorf("%v becomes %v", other, got)
		}
	}
	sentinel := redis.NewFailoverClient(&redis.FailoverOptions{SentinelAddrs: []string{"127.0.0.1:1"}})
	defer sentinel.Close()
	if got := Server(sentinel); got != "the master that the Sentinels know" {
		t.Error(got)
	}
}
