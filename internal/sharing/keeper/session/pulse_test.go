package session

import (
	"context"
	"errors"
	"net"
	"path"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// Cut off from ZooKeeper, a worker first begins nothing any more, then nothing of it may run, and
// only then others can prove it dead. It learns that when it is back.
func TestDeadline(t *testing.T) {
	t.Parallel()
	const timeout = 8 * time.Second
	w, proxy, witness := behind(t, timeout)
	w.confirms(t)
	proxy.Freeze()

	gone, _, changed, err := witness.ExistsW(w.node)
	if err != nil || !gone {
		t.Fatal(err)
	}
	await.Signal(t, "others can prove it dead", changed)
	// The server does not say when it died, but what time it was soon after.
	stat, err := witness.Set(path.Dir(w.node), nil, -1)
	must.Do(t, err)
	dead := time.UnixMilli(stat.Mtime)
	w.isNotLost(t) // it cannot know
	if until, deadline := w.Until(), w.Deadline(); !until.Before(deadline) || !deadline.Before(dead) {
		t.Errorf("it may begin until %v and must end %v before it is dead", until.Sub(dead), dead.Sub(deadline))
	}
	if left := w.confirmed().Add(timeout).Sub(dead); left > time.Millisecond { // the server counts those
		t.Errorf("dead %v before the session could end", left)
	}
	wantError(t, w.Silence(), "ZooKeeper was not heard for", "of a session of 8s", proxy.Addr())
	proxy.Thaw()
	await.Signal(t, "lost", w.Lost())
	if !errors.Is(w.Err(), errExpired) {
		t.Error(w.Err())
	}
	w.leave()
	if there(t, witness, w.node) {
		t.Error("it has another node")
	}
}

func TestUntilComesBeforeTheDeadline(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	for timeout, margin := range map[time.Duration]time.Duration{
		time.Second: 250 * time.Millisecond, 3 * time.Second: 500 * time.Millisecond, 10 * time.Second: time.Second, time.Minute: 6 * time.Second,
	} {
		s := &Session{signs: &signs{granted: timeout, alive: begun}}
		p := NewPulse(s, "", "", nil)
		if got := s.Deadline().Sub(begun); got != timeout-margin {
			t.Errorf("timeout %v: deadline after %v", timeout, got)
		}
		if left := timeout*2/3 - timeout/Beats - s.AnswerTimeout(); left < timeout/6 {
			t.Errorf("timeout %v: %v are left for another connection when one has not answered", timeout, left)
		}
		if got := p.Until().Sub(begun); got != timeout*2/3 || !p.Until().Before(s.Deadline()) {
			t.Errorf("timeout %v: until %v", timeout, got)
		}
		s.confirm(begun.Add(-time.Second)) // an answer that was long under way
		if !s.confirmed().Equal(begun) {
			t.Error("it went back")
		}
	}
}

// A server that the others have lost answers reads for a while, and a leader in that place
// answers to a sync, although the session may end at the same time: they are no sign of
// life.
func TestReadsAreNoSignOfLife(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	w := newWorker(t, opened(t, config(time.Second, srv.Servers()...)), srv.Chroot(t))
	w.running.Go(func() { // and no heart beats
		for w.Context().Err() == nil {
			w.Exists(context.Background(), w.node)
			w.Sync(context.Background(), w.node)
		}
	})
	await.True(t, "the deadline comes", func() bool { return time.Now().After(w.Deadline()) })
}

// A connection that died without a word is left when a request has no answer, long
// before the library would. So there is time for another one: TestUntilComesBeforeTheDeadline.
func TestWedgedConnectionIsLeft(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	cfg := config(time.Minute, "zookeeper:2181")
	died := make(chan error, 1)
	var dials atomic.Int32
	cfg.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
		if dials.Add(1) > 1 {
			return new(net.Dialer).DialContext(ctx, network, srv.Addr())
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, proxy.Addr())
		return &mortal{Conn: conn, died: died}, err
	}
	w := newWorker(t, opened(t, cfg), srv.Chroot(t))
	grant(w.Session, 1500*time.Millisecond) // so it waits for half a second, and the library for 40
	w.beats()                               // and no one looks at the deadline
	w.confirms(t)
	proxy.Freeze()
	frozen := time.Now()
	await.True(t, "another connection", func() bool {
		w.isNotLost(t)
		return w.confirmed().After(frozen)
	})
	if err := await.Signal(t, "the end of the first connection", died); !errors.Is(err, net.ErrClosed) {
		t.Errorf("it ended by itself, or by the library: %v", err)
	}
	proxy.Thaw()
}

// mortal returns how it ended.
type mortal struct {
	net.Conn
	died chan error
}

func (m *mortal) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	if err != nil {
		select {
		case m.died <- err:
		default:
		}
	}
	return n, err
}

// A session outlives an outage that is longer than its timeout: ZooKeeper begins to count again when
// it is back. How long a server that starts then needs for the worker is the machine's business. So by
// day it has a minute, and only the worker takes it for 15 s.
func TestOutageLongerThanTheSession(t *testing.T) {
	t.Parallel()
	const timeout = 15 * time.Second
	srv := servertest.ZooKeeper(t)
	cfg := config(time.Minute, srv.Addr())
	if night.Is() {
		cfg.Timeout = timeout
	}
	w := newWorker(t, opened(t, cfg), "/rmq")
	grant(w.Session, timeout) // until it is back
	w.lives()
	id := w.ID()
	srv.Kill()
	await.True(t, "it is away for two session timeouts", func() bool {
		w.isNotLost(t)
		return time.Since(w.confirmed()) >= 2*timeout
	})
	if now := time.Now(); w.Until().After(now) || w.Deadline().After(now) {
		t.Errorf("in the silence work may be begun until %v, and go on until %v", w.Until(), w.Deadline())
	}
	if err := w.Barrier(await.Context(t)); err == nil {
		t.Error("nobody has decided, and it is through")
	}
	srv.Restart(t)
	w.confirms(t)
	if w.ID() != id || !there(t, srv.Client(t, long), w.node) {
		t.Error("another session")
	}
	if now := time.Now(); w.Until().Before(now) || w.Deadline().Before(now) {
		t.Errorf("afterwards work may be begun until %v, and go on until %v", w.Until(), w.Deadline())
	}
}

// The session has outlived a silence. During it an operator may have deleted the worker's node, so that
// others take it for dead. So nothing is begun before the node was seen.
func TestNothingBeginsBeforeTheNodeIsSeen(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	conn := srv.Client(t, long)
	w := newWorker(t, opened(t, config(long, srv.Servers()...)), srv.Chroot(t)) // and no heart beats
	grant(w.Session, 24*time.Hour)
	var touched <-chan zk.Event
	before := time.Now()
	must.Do(t, w.look(w.Context(), &touched))
	found := *w.found.Load()
	if found.Before(before) {
		t.Errorf("it was found %v before it was looked for", before.Sub(found))
	}
	alive := func(at time.Time) {
		w.signs.mu.Lock()
		w.alive = at
		w.signs.mu.Unlock()
	}
	alive(found.Add(time.Second)) // a write is answered, and the node not looked for yet
	if begins := found.Add(w.Timeout() * 2 / 3); !w.Until().Equal(begins) {
		t.Errorf("work may be begun %v too long", w.Until().Sub(begins))
	}
	alive(found.Add(-time.Second)) // and the other way round
	if begins := found.Add(w.Timeout()*2/3 - time.Second); !w.Until().Equal(begins) {
		t.Errorf("work may be begun %v too long", w.Until().Sub(begins))
	}
	must.Do(t, conn.Delete(w.node, -1))
	if err := w.look(w.Context(), &touched); !errors.Is(err, errDeleted) {
		t.Error(err)
	}
	if again := *w.found.Load(); !again.Equal(found) {
		t.Error("what is gone was found")
	}
}

// The office of a worker whose node is gone is given up before the session is lost, and what
// comes of it is said afterwards.
func TestWhoseNodeIsDeleted(t *testing.T) {
	t.Parallel()
	srv := servertest.SharedZooKeeper(t)
	conn := srv.Client(t, long)
	w := newWorker(t, opened(t, config(long, srv.Servers()...)), srv.Chroot(t))
	must.Do(t, conn.Delete(w.node, -1))
	kept := errors.New("it was not given up")
	left := w.Run(w.Context(), func(context.Context) error {
		w.isNotLost(t)
		return kept
	})
	if left != kept {
		t.Errorf("%v of its office", left)
	}
	await.Signal(t, "lost", w.Lost())
	wantError(t, w.Err(), w.node+" was deleted")
}
