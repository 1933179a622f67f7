package servertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
)

// proxied is a server, the proxy in front of it, a client through the proxy that
// hides no fault, and one that goes past it.
type proxied struct {
	srv          *Server
	proxy        *Proxy
	rdb, witness *redis.Client
}

func newProxied(t *testing.T) proxied {
	t.Helper()
	srv := Redis(t)
	proxy := NewProxy(t, srv.Addr())
	b := proxied{srv, proxy, proxy.Client(t, impatient), srv.Client(t)}
	b.mustWork(t)
	return b
}

func (b proxied) mustWork(t *testing.T) {
	t.Helper()
	await.Nil(t, "the way through the proxy", func() error {
		err := b.rdb.Ping(t.Context()).Err()
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) { // which a busy machine may cause
			t.Fatalf("the way through the proxy is closed: %v", err)
		}
		return err
	})
}

func (b proxied) mustFail(t *testing.T) {
	t.Helper()
	if err := b.rdb.Ping(t.Context()).Err(); err == nil {
		t.Fatal("the way through the proxy is open")
	}
}

// counts waits until key has the value want, seen past the proxy.
func (b proxied) counts(t *testing.T, key string, want int) {
	t.Helper()
	await.Nil(t, key, func() error {
		n, err := b.witness.Get(t.Context(), key).Int()
		if n != want {
			return fmt.Errorf("it is %d, want %d; %w", n, want, err)
		}
		return nil
	})
}

func TestProxyForwardsBothWays(t *testing.T) {
	t.Parallel()
	b := newProxied(t)
	big := string(bytes.Repeat([]byte("0123456789abcdef"), 1<<16)) // 1 MiB: many pieces
	if err := b.rdb.Set(t.Context(), "k", big, 0).Err(); err != nil {
		t.Fatal(err)
	}
	slow := func(o *redis.Options) { o.ReadTimeout = await.Patience }
	if got, err := b.proxy.Client(t, slow).Get(t.Context(), "k").Result(); err != nil || got != big {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestProxyCutResetsAndMendReopens(t *testing.T) {
	t.Parallel()
	b := newProxied(t)
	conn, err := net.Dial("tcp", b.proxy.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 16)
	if n, err := conn.Read(buf); err != nil || string(buf[:n]) != "+PONG\r\n" {
		t.Fatalf("%q, %v", buf[:n], err)
	}

	b.proxy.Cut()
	if _, err := conn.Read(buf); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("read after the cut: %v", err)
	}
	b.mustFail(t)
	b.mustFail(t) // not only the connections of before
	b.proxy.Mend()
	b.mustWork(t)
}

func TestProxyFreezeHoldsAndThawDelivers(t *testing.T) {
	t.Parallel()
	b := newProxied(t)
	b.proxy.Freeze()
	late := make(chan error, 1)
	patient := b.proxy.Client(t, func(o *redis.Options) { o.ReadTimeout = await.Patience; o.MaxRetries = -1 })
	go func() { late <- patient.Incr(t.Context(), "n").Err() }()
	b.mustFail(t) // takes the client's whole read timeout
	if n := b.witness.Exists(t.Context(), "n").Val(); n != 0 {
		t.Error("a request came through the freeze")
	}
	b.proxy.Thaw()
	if err := <-late; err != nil {
		t.Errorf("after the thaw: %v", err)
	}
	b.counts(t, "n", 1)
	b.mustWork(t)
}

func TestProxyCutEndsFrozenConnections(t *testing.T) {
	t.Parallel()
	b := newProxied(t)
	b.proxy.Freeze()
	b.mustFail(t)
	b.proxy.Cut() // must not wait for the thaw; nor must the end of the test
}

func TestProxyDropReplies(t *testing.T) {
	t.Parallel()
	b := newProxied(t)
	b.proxy.DropReplies(true)
	if err := b.rdb.Incr(t.Context(), "n").Err(); err == nil {
		t.Fatal("a reply came back")
	}
	b.counts(t, "n", 1)
	b.proxy.DropReplies(false)
	b.mustWork(t)
}

func TestProxyLosesOneReply(t *testing.T) {
	t.Parallel()
	b := newProxied(t)
	lost := b.proxy.LoseNextReply()
	if err := b.rdb.Incr(t.Context(), "n").Err(); err == nil {
		t.Fatal("the reply came back")
	}
	<-lost
	b.counts(t, "n", 1)
	if n, err := b.rdb.Incr(t.Context(), "n").Result(); n != 2 || err != nil {
		t.Errorf("the request after it: %d, %v", n, err)
	}
}

// The retry go-redis makes by itself runs the command a second time: the reason
// why RMQ's scripts must bear being repeated.
func TestProxyLostReplyMakesGoRedisRepeat(t *testing.T) {
	t.Parallel()
	b := newProxied(t)
	rdb := b.proxy.Client(t)
	lost := b.proxy.LoseNextReply("incr", "N")
	if err := rdb.Ping(t.Context()).Err(); err != nil { // not the request that is meant
		t.Fatal(err)
	}
	if n, err := rdb.Incr(t.Context(), "n").Result(); n != 2 || err != nil {
		t.Errorf("n = %d, %v; want 2", n, err)
	}
	<-lost
}

// The opening of a connection is not the next request.
func TestProxyLoseNextReplySparesTheHandshake(t *testing.T) {
	t.Parallel()
	b := newProxied(t)
	fresh := b.proxy.Client(t, impatient)
	lost := b.proxy.LoseNextReply()
	if err := fresh.Incr(t.Context(), "n").Err(); err == nil {
		t.Fatal("the reply came back")
	}
	<-lost
	b.counts(t, "n", 1)
}

func TestProxyOnRequest(t *testing.T) {
	t.Parallel()
	b := newProxied(t)
	var seen atomic.Int32
	b.proxy.OnRequest(func(piece []byte) bool {
		if !bytes.Contains(piece, []byte("incr")) {
			return true
		}
		seen.Add(1)
		b.proxy.Cut() // calling the proxy from the hook is allowed
		return false
	})
	if err := b.rdb.Incr(t.Context(), "n").Err(); err == nil {
		t.Error("the request went through")
	}
	b.proxy.OnRequest(nil)
	b.proxy.Mend()
	b.mustWork(t)
	if n := b.witness.Exists(t.Context(), "n").Val(); n != 0 || seen.Load() != 1 {
		t.Errorf("exists %d, seen %d", n, seen.Load())
	}
}

func TestProxyDelay(t *testing.T) {
	t.Parallel()
	b := newProxied(t)
	const delay = 20 * time.Millisecond
	b.proxy.Delay(delay)
	begin := time.Now()
	b.mustWork(t)
	if took := time.Since(begin); took < 2*delay {
		t.Errorf("there and back in %v", took)
	}
}

func TestProxySurvivesItsServer(t *testing.T) {
	t.Parallel()
	b := newProxied(t)
	b.srv.Kill()
	b.mustFail(t)
	b.srv.Restart(t)
	b.mustWork(t)
}

// Everything at once, for the race detector; the proxy must come out working.
func TestProxyUnderChange(t *testing.T) {
	t.Parallel()
	b := newProxied(t)
	var clients, faults sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		clients.Go(func() {
			for range 50 {
				_ = b.rdb.Incr(context.Background(), "n").Err()
			}
		})
	}
	faults.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			p := b.proxy
			[]func(){
				p.Cut, p.Mend, p.Freeze, p.Thaw,
				func() { p.DropReplies(true) }, func() { p.DropReplies(false) },
				func() { p.LoseNextReply() }, func() { p.Delay(time.Millisecond) }, func() { p.Delay(0) },
				func() { p.OnRequest(func([]byte) bool { return i%3 != 0 }) }, func() { p.OnRequest(nil) },
			}[i%11]()
			// Breathe: one request past the proxy takes a moment of the right size.
			_ = b.witness.Ping(context.Background()).Err()
		}
	})
	clients.Wait()
	close(stop)
	faults.Wait()

	p := b.proxy
	p.Mend()
	p.Thaw()
	p.DropReplies(false)
	p.Delay(0)
	p.OnRequest(nil)
	lost := p.LoseNextReply()      // also replaces one that was still waiting
	b.rdb = p.Client(t, impatient) // without connections that died above
	if b.rdb.Incr(t.Context(), "n").Err() == nil {
		t.Fatal("the reply came back")
	}
	<-lost
	b.mustWork(t)
}
