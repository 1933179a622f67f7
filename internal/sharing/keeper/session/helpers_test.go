package session

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// long is a session that does not end while a test runs.
const long = 30 * time.Second

// config leads to a server, or several.
func config(timeout time.Duration, servers ...string) Config {
	return Config{Servers: servers, Timeout: timeout, Dialer: new(net.Dialer).DialContext}
}

// opened is a session that is left with the test.
func opened(t *testing.T, cfg Config) *Session {
	t.Helper()
	s, err := Open(await.Context(t), cfg)
	must.Do(t, err)
	t.Cleanup(s.Abandon) // does nothing after Close
	return s
}

// grant makes the session believe in another timeout than the server's, until the next welcome.
func grant(s *Session, timeout time.Duration) {
	s.signs.mu.Lock()
	s.granted = timeout
	s.signs.mu.Unlock()
}

// worker is a session with a pulse.
type worker struct {
	*Session
	*Pulse
	running sync.WaitGroup
}

// newWorker registers a worker in a session. Nothing of it runs.
func newWorker(t *testing.T, s *Session, root string) *worker {
	t.Helper()
	w := &worker{Session: s, Pulse: NewPulse(s, root+"/worker", root+"/written", func() []byte { return nil })}
	t.Cleanup(w.leave)
	must.Do(t, Retry(await.Context(t), func() error { return s.Ensure(await.Context(t), root, nil) }))
	for _, path := range []string{w.written, w.node} {
		must.Do(t, Retry(await.Context(t), func() error {
			mine, err := s.Claim(await.Context(t), path, nil)
			if err == nil && !mine {
				err = errors.New("it is somebody else's")
			}
			return err
		}))
	}
	return w
}

func (w *worker) beats() {
	w.running.Go(func() { w.Run(w.Context(), func(context.Context) error { return nil }) })
}

// lives starts everything, as a member does.
func (w *worker) lives() *worker {
	w.beats()
	w.running.Go(func() { w.EndSilence(w.Context()) })
	return w
}

func (w *worker) leave() {
	w.Abandon()
	w.running.Wait()
}

// confirms waits until ZooKeeper has answered a write that was begun from now on.
func (w *worker) confirms(t *testing.T) {
	t.Helper()
	begun := time.Now()
	await.Nil(t, "a sign of life", func() error {
		w.isNotLost(t)
		if !w.answered().After(begun) {
			return errors.New("not confirmed")
		}
		return nil
	})
}

func (w *worker) isNotLost(t *testing.T) {
	t.Helper()
	if err := w.Err(); err != nil {
		t.Fatalf("lost: %v", err)
	}
}

// behind is a worker behind a proxy, on a server that is shared, and a witness.
func behind(t *testing.T, timeout time.Duration) (*worker, *servertest.Proxy, *zk.Conn) {
	t.Helper()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	s := opened(t, config(timeout, proxy.Addr()))
	return newWorker(t, s, srv.Chroot(t)).lives(), proxy, srv.Client(t, long)
}

// there reports whether a node exists.
func there(t *testing.T, conn *zk.Conn, path string) bool {
	t.Helper()
	there, _, err := conn.Exists(path)
	if err != nil {
		t.Fatalf("look for %s: %v", path, err)
	}
	return there
}

// comes makes a node, with flags for one that belongs to the witness.
func comes(t *testing.T, conn *zk.Conn, path string, flags int32) {
	t.Helper()
	if _, err := conn.Create(path, nil, flags, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatalf("create %s: %v", path, err)
	}
}

// wantError fails unless err contains all words.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one about %q", words)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}
