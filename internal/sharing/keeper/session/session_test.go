package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// The library would go on with a new session after the old one has expired, and carry
// out in it what was asked before.
func TestNoSecondSessionOnAConnection(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	witness := srv.Client(t, long)
	s, path := opened(t, config(long, proxy.Addr())), srv.Chroot(t)+"/of-a-test"

	proxy.Cut()
	var claiming sync.WaitGroup
	claiming.Go(func() {
		for s.Context().Err() == nil {
			if mine, err := s.Claim(s.Context(), path, nil); mine || err == nil {
				t.Errorf("claimed: %v, %v", mine, err)
			}
		}
	})
	srv.ExpireSession(t, s.ID())
	proxy.Mend()
	await.Signal(t, "lost", s.Lost())
	claiming.Wait()
	s.Close()
	if there(t, witness, path) {
		t.Error("it was carried out by another session")
	}
}

func TestReplacedSession(t *testing.T) {
	t.Parallel()
	s := &Session{signs: &signs{}}
	s.life = newLife(newDialer(Config{}, nil))
	if err := s.welcomed(time.Now(), time.Second, 7); err != nil || s.ID() != 7 || s.Timeout() != time.Second {
		t.Fatal(err)
	}
	if err := s.welcomed(time.Now(), 2*time.Second, 7); err != nil || s.Timeout() != 2*time.Second {
		t.Fatal(err)
	}
	if err := s.welcomed(time.Now(), time.Second, 8); !errors.Is(err, errReplaced) {
		t.Error(err)
	}
	await.Signal(t, "lost", s.Lost())
	if s.ID() != 7 || s.Timeout() != 2*time.Second {
		t.Errorf("the session is %d now, of %v", s.ID(), s.Timeout())
	}
}

// A server grants less than it is asked for, and all that is waited for goes by that.
func TestWhatTheServerGrants(t *testing.T) {
	t.Parallel()
	const granted = 20 * time.Second
	srv := servertest.ZooKeeper(t, "maxSessionTimeout=20000")
	s := opened(t, config(long, srv.Addr()))
	if got := s.Timeout(); got != granted {
		t.Errorf("timeout %v", got)
	}
	if call, dial := s.AnswerTimeout(), s.dialer.connectTimeout(); call != granted/3 || dial != call {
		t.Errorf("waits %v for an answer, %v for a connection", call, dial)
	}
}

// This session alone is cut off: it expires, which it learns when it is back.
func TestExpiresWhileItIsCutOff(t *testing.T) {
	t.Parallel()
	w, proxy, witness := behind(t, long)
	proxy.Freeze()
	servertest.SharedZooKeeper(t).ExpireSession(t, w.ID())
	await.True(t, "its node goes", func() bool { return !there(t, witness, w.node) })
	w.isNotLost(t)
	proxy.Thaw()
	await.Signal(t, "lost", w.Lost())
	if !errors.Is(w.Err(), errExpired) {
		t.Error(w.Err())
	}
}

// When ZooKeeper is back, another session may be opened a little earlier than ours is
// found again.
func TestASessionIsGivenTime(t *testing.T) {
	t.Parallel()
	w, _, _ := behind(t, 10*time.Second)
	w.signs.mu.Lock()
	w.alive = time.Now().Add(-time.Hour)
	w.signs.mu.Unlock()
	if _, why := w.wedged(w.Context()); why != nil {
		t.Error(why)
	}
}

// Whatever happens at its end, a lost session does not say goodbye: its handlers may
// still run.
func TestLostSessionIsLeftToItsTimeout(t *testing.T) {
	t.Parallel()
	w, _, witness := behind(t, long)
	w.lose(errors.New("a test says so"))
	w.Close()
	if !there(t, witness, w.node) {
		t.Error("it is gone already")
	}
}

// An answer that comes before the watches are set again does not hide from them what
// has happened meanwhile.
func TestWatchesMissNothing(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	witness := srv.Client(t, long)
	root := srv.Chroot(t)
	s := opened(t, config(long, proxy.Addr()))
	for i := range 5 {
		path := root + "/" + strconv.Itoa(i)
		there, _, watch, err := s.ExistsW(await.Context(t), path)
		if there || err != nil {
			t.Fatalf("%v, %v", there, err)
		}
		proxy.Cut()
		comes(t, witness, path, 0)
		var asking sync.WaitGroup
		asking.Go(func() {
			Retry(await.Context(t), func() error {
				_, _, err := s.Exists(await.Context(t), root)
				return err
			})
		})
		proxy.Mend()
		asking.Wait()
		await.Signal(t, "the watch of what came", watch)
	}
}

// A welcome that does not come must not hold the library up for 6.7 session timeouts.
func TestMuteWelcome(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	s := opened(t, config(15*time.Second, proxy.Addr()))
	back, stop := s.Reconnected()
	defer stop()
	number := binary.BigEndian.AppendUint64(nil, uint64(s.ID()))
	var swallowed atomic.Bool
	proxy.OnRequest(func(b []byte) bool {
		return !bytes.Contains(b, number) || swallowed.Swap(true)
	})
	proxy.Cut()
	proxy.Mend()
	await.Signal(t, "it is back", back)
	if !swallowed.Load() {
		t.Error("its first try was answered")
	}
	s.Close()
}

// When the password cannot be written on a new connection, the library waits for
// ever for somebody to hear of that.
func TestPasswordThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	cfg := config(long, proxy.Addr())
	cfg.Auth = "rmq:secret"
	var dials atomic.Int32
	cfg.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if dials.Add(1) == 2 {
			return &failing{Conn: conn}, err
		}
		return conn, err
	}
	w := newWorker(t, opened(t, cfg), srv.Chroot(t)+"/rmq").lives()
	proxy.Cut()
	proxy.Mend()
	w.confirms(t)
	if dials.Load() < 3 {
		t.Errorf("%d dials; the failing one was not used", dials.Load())
	}
	if _, err := w.Write(await.Context(t)); err != nil {
		t.Errorf("the password was not said again: %v", err)
	}
}

// failing fails each write but the first.
type failing struct {
	net.Conn
	writes int
}

func (f *failing) Write(p []byte) (int, error) {
	if f.writes++; f.writes > 1 {
		return 0, errors.New("cannot write")
	}
	return f.Conn.Write(p)
}

// A session that was lost, closed or abandoned is so once and for all.
func TestASessionEndsOnce(t *testing.T) {
	t.Parallel()
	for want, end := range map[error]func(*Session){
		errExpired: func(s *Session) { s.lose(errExpired) }, errClosed: (*Session).Close, errAbandoned: (*Session).Abandon,
	} {
		s := opened(t, config(long, servertest.SharedZooKeeper(t).Servers()...))
		end(s)
		s.Abandon()
		s.Close()
		s.lose(errWedged)
		if got := context.Cause(s.Context()); got != want {
			t.Errorf("it is over since %v, not %v", got, want)
		}
		if lost := want == errExpired; lost != (s.Err() != nil) {
			t.Errorf("%v: lost by %v", want, s.Err())
		}
		_, _, err := s.Get(await.Context(t), "/")
		if !errors.Is(err, want) {
			t.Errorf("it is used: %v", err)
		}
	}
}
