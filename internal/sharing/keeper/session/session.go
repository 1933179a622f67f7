package session

import (
	"context"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// Session is one session with ZooKeeper, on a zk.Conn of its own: after the end of a
// session the library would go on with another one as if nothing had happened.
type Session struct {
	*life
	*signs
	*link
	nodes

	cfg  Config
	done chan struct{} // nothing of it runs any more
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// Open opens a session.
func Open(ctx context.Context, cfg Config) (*Session, error) {
	now := time.Now()
	s := &Session{cfg: cfg, done: make(chan struct{}), signs: &signs{granted: cfg.Timeout, alive: now, heard: now}, link: newLink()}
	s.life = newLife(newDialer(cfg, s.welcomed))
	conn, events, err := zk.Connect(cfg.Servers, cfg.Timeout, zk.WithHostProvider(&hosts{}), zk.WithDialer(s.dialer.dial),
		zk.WithEventCallback(s.onEvent), zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	s.nodes = nodes{&calls{caller: &caller{conn: conn, life: s.life, signs: s.signs}, acl: zk.WorldACL(zk.PermAll)}}
	go s.attend(events)
	ctx, cancel := cfg.bound(ctx)
	defer cancel()
	err = s.await(ctx)
	if err == nil && cfg.Auth != "" {
		err = s.authenticate(ctx, cfg.Auth)
	}
	if err != nil {
		s.Leave()
		s.wait(ctx)
		return nil, err
	}
	return s, nil
}

// attend waits for the end of the session, and returns when nothing of the library runs.
func (s *Session) attend(events <-chan zk.Event) {
	defer close(s.done)
	<-s.ctx.Done()
	s.conn.Close() // ends the session on the server, unless the dialer is cut
	s.dialer.cut()
	for range events {
		continue
	}
}

// await waits until the session is opened.
func (s *Session) await(ctx context.Context) error {
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
func (s *Session) welcomed(dialed time.Time, granted time.Duration, number int64) error {
	if why := s.recognize(number); why != nil {
		s.lose(why)
		return why
	}
	s.connected(dialed, granted)
	return nil
}

// Bound is ctx for as long as a session may take to open, and once more for a worker to
// register in it.
func (s *Session) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return s.cfg.bound(ctx)
}

// Silence says for how long ZooKeeper was not heard, and why.
func (s *Session) Silence() error {
	return fmt.Errorf("ZooKeeper was not heard for %v, of a session of %v: %s",
		time.Since(s.answered()).Round(time.Millisecond), s.Timeout(), s.dialer.whyUnreachable())
}

// EndSilence ends a session that is silent while ZooKeeper is not. It returns when ctx ends.
func (s *Session) EndSilence(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			wait, why := s.wedged(ctx)
			if why != nil {
				s.lose(why)
			}
			timer.Reset(wait)
		case <-ctx.Done():
			return
		}
	}
}

// wedged finds out whether ZooKeeper is away, which the session waits out, or
// answers others while we cannot reach it. That can happen: servers that were set back to
// older data refuse a client that has seen newer.
func (s *Session) wedged(ctx context.Context) (time.Duration, error) {
	timeout := s.Timeout()
	late := timeout * 3 / 2
	if silent := time.Since(s.confirmed()); silent < late {
		return late - silent, nil
	}
	other, err := Open(ctx, s.cfg)
	if err != nil {
		return timeout, nil
	}
	other.Close()
	// If ZooKeeper has just come back, our own session must get an answer next.
	wait.Sleep(ctx, timeout)
	if time.Since(s.confirmed()) < late {
		return late, nil
	}
	return 0, errWedged
}

// Abandon leaves the session to its timeout.
func (s *Session) Abandon() {
	s.Leave()
	s.wait(context.Background())
}

// Close ends the session at once.
func (s *Session) Close() {
	s.finish(errClosed)
	s.wait(context.Background())
}

// wait waits for the library, which takes up to 3 s; a hung Dialer takes longer.
func (s *Session) wait(ctx context.Context) {
	timer := time.NewTimer(5 * time.Second)
	defer timer.Stop()
	select {
	case <-s.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}
