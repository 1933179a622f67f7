package keeper

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// session is one session with ZooKeeper, on a zk.Conn of its own: after the end of a
// session the library would go on with another one as if nothing had happened.
type session struct {
	conn   *zk.Conn
	dialer *dialer
	acl    []zk.ACL

	ctx  context.Context // until the session is lost, closed or abandoned
	end  context.CancelCauseFunc
	lost chan struct{}
	done chan struct{} // nothing of it runs any more
	up   chan struct{} // it was opened

	mu      sync.Mutex
	number  int64         // ZooKeeper's; 0: not opened yet
	granted time.Duration // the timeout ZooKeeper has granted
	alive   time.Time     // see confirmed
	heard   time.Time     // when the last write was begun that was answered; not of each
	dialed  time.Time     // when the present connection was begun
	waiting map[chan struct{}]struct{}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// open opens a session.
func open(ctx context.Context, cfg Config) (*session, error) {
	s := &session{
		acl:  zk.WorldACL(zk.PermAll),
		lost: make(chan struct{}), done: make(chan struct{}), up: make(chan struct{}),
		granted: cfg.SessionTimeout, waiting: map[chan struct{}]struct{}{},
	}
	s.alive = time.Now()
	s.heard = s.alive
	s.ctx, s.end = context.WithCancelCause(context.Background())
	s.dialer = newDialer(cfg, s.welcomed)
	conn, events, err := zk.Connect(cfg.Servers, cfg.SessionTimeout, zk.WithHostProvider(&hosts{}), zk.WithDialer(s.dialer.dial),
		zk.WithEventCallback(s.onEvent), zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	s.conn = conn
	go s.attend(events)
	ctx, cancel := cfg.bound(ctx)
	defer cancel()
	err = s.await(ctx)
	if err == nil && cfg.Auth != "" {
		err = s.authenticate(ctx, cfg.Auth)
	}
	if err != nil {
		s.leave()
		s.wait(ctx)
		return nil, err
	}
	return s, nil
}

// authenticate sends the password. The library sends it again on each new connection,
// but only if it got an answer the first time.
func (s *session) authenticate(ctx context.Context, auth string) error {
	user, password, _ := strings.Cut(auth, ":")
	s.acl = zk.DigestACL(zk.PermAll, user, password)
	return insist(ctx, func() error {
		_, err := ask(ctx, s, call{what: "authenticate", path: "user " + user}, func(c *zk.Conn) (struct{}, error) {
			return struct{}{}, c.AddAuth("digest", []byte(auth))
		})
		return err
	})
}

// attend waits for the end of the session, and returns when nothing of the library runs.
func (s *session) attend(events <-chan zk.Event) {
	defer close(s.done)
	<-s.ctx.Done()
	s.conn.Close() // ends the session on the server, unless the dialer is cut
	s.dialer.cut()
	for range events {
		continue
	}
}

// await waits until the session is opened.
func (s *session) await(ctx context.Context) error {
	select {
	case <-s.up:
		return nil
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	case <-ctx.Done():
		return fmt.Errorf("ZooKeeper is unreachable: %s (%w)", s.dialer.whyUnreachable(), context.Cause(ctx))
	}
}

// welcomed is called with the welcome of a server on each new connection. An error keeps
// the library from using it.
func (s *session) welcomed(dialed time.Time, granted time.Duration, number int64) error {
	s.mu.Lock()
	known := s.number
	if known == 0 {
		s.number = number
	}
	if number != 0 && (known == 0 || number == known) {
		s.granted, s.dialed = granted, dialed
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	why := errReplaced
	if number == 0 {
		why = errExpired
	}
	s.lose(why)
	return why
}

// onEvent is called by the library, and must not wait or call it.
func (s *session) onEvent(e zk.Event) {
	if e.Type != zk.EventSession || e.State != zk.StateHasSession {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.up:
	default:
		close(s.up)
		return
	}
	for c := range s.waiting {
		select {
		case c <- struct{}{}:
		default: // it has not looked since the last time
		}
	}
}

// reconnected returns a channel that gets a value after each return of the connection,
// until stop. A watch may have missed something then.
func (s *session) reconnected() (signal <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[c] = struct{}{}
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, c)
	}
}

// id is ZooKeeper's number of the session: zk.Stat.EphemeralOwner of its nodes.
func (s *session) id() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.number
}

// timeout is the one that ZooKeeper has granted.
func (s *session) timeout() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.granted
}

// answerTimeout is how long a call waits for its answer.
func (s *session) answerTimeout() time.Duration { return s.timeout() / 3 }

// confirmed is the last time at which the session was surely alive: it does not end
// before a whole session timeout has passed since then.
//
// An answer of one server proves nothing. A leader that has lost the others goes on
// answering, even to a sync, until it notices; meanwhile they elect another one, which
// may end the session. A write is decided by a majority, so not by such a leader. But a
// follower reports only twice in a tick to the leader which sessions have asked
// something; when both are cut off from each other before that, the leader counts from
// the request before. So an answered write confirms the one before it, which is a beat
// older, or the beginning of the connection, of which the leader hears at once.
func (s *session) confirmed() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.alive
}

// answered is when the last write was begun that was answered, to within a beat.
func (s *session) answered() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard
}

// confirm notes when a write was begun that was answered.
func (s *session) confirm(begun time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if begun.After(s.dialed) { // else another connection may have brought the answer
		s.alive = later(s.alive, s.dialed)
	}
	if begun.Sub(s.heard) >= s.granted/beats {
		s.alive, s.heard = later(s.alive, s.heard), begun
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// deadline is when others may prove us dead, less a margin.
func (s *session) deadline() time.Time {
	timeout := s.timeout()
	return s.confirmed().Add(timeout - marginOf(timeout))
}

// marginOf is what is left for handlers to return when their contexts were cancelled.
func marginOf(timeout time.Duration) time.Duration {
	return min(max(timeout/10, 500*time.Millisecond), timeout/4)
}

// over is closed when the session is lost, closed or abandoned.
func (s *session) over() <-chan struct{} { return s.ctx.Done() }

// lose gives the session up: it has ended, or may have.
func (s *session) lose(why error) {
	s.dialer.cut()
	if s.finish(why) {
		close(s.lost)
	}
}

// abandon leaves the session to its timeout.
func (s *session) abandon() {
	s.leave()
	s.wait(context.Background())
}

func (s *session) leave() {
	s.dialer.cut()
	s.finish(errAbandoned)
}

// close ends the session at once.
func (s *session) close() {
	s.finish(errClosed)
	s.wait(context.Background())
}

// finish reports whether this call has ended it.
func (s *session) finish(why error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return false
	}
	s.end(why)
	return true
}

// wait waits for the library, which takes up to 3 s; a hung Dialer takes longer.
func (s *session) wait(ctx context.Context) {
	timer := time.NewTimer(5 * time.Second)
	defer timer.Stop()
	select {
	case <-s.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}
