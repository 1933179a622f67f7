package keeper

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// Member is a worker with a session.
type Member struct {
	keeper     *Keeper
	worker     Worker
	session    *session
	tree       tree
	treeID     string                    // not changed after the start
	again      bool                      // the tree was made again
	provesFrom time.Time                 // from when on deaths may be proven; see checkMadeAgain
	found      atomic.Pointer[time.Time] // when the last look at the own node was begun that found it
	id         string
	log        *zap.Logger // with the worker's id

	ctx     context.Context // until the session is over, or Close
	stop    context.CancelFunc
	running sync.WaitGroup

	alone    chan struct{} // see Alone
	holdings holdings
	owning   sync.Mutex // Own is being called; and for shares
	shares   map[string]*portion
}

func newMember(k *Keeper, w Worker, s *session) *Member {
	if w.Logger == nil {
		w.Logger = zap.NewNop()
	}
	var random [4]byte
	rand.Read(random[:]) // never fails
	m := &Member{
		keeper: k, worker: w, session: s, tree: newTree(k.cfg.Root, w.Namespace),
		id:     fmt.Sprintf("%s-%x-%x", w.Name, uint64(s.id()), random),
		shares: map[string]*portion{}, alone: make(chan struct{}),
	}
	for _, t := range w.Topics {
		m.shares[t.Name] = &portion{}
	}
	m.log = w.Logger.With(zap.String("member", m.id))
	m.holdings.init(w.Quiet)
	m.ctx, m.stop = context.WithCancel(s.ctx)
	return m
}

// start starts everything, and returns when each topic's assignment was read.
func (m *Member) start(ctx context.Context) error {
	m.log.Info("joined", zap.Int64("session", m.session.id()), zap.Duration("timeout", m.session.timeout()))
	m.running.Go(m.beat)
	m.running.Go(m.watchSilence)
	m.running.Go(m.publishHoldings)
	m.running.Go(m.compare)
	if m.worker.Quiet != nil {
		m.running.Go(m.watchAlone)
	}
	m.running.Go(func() { m.coordinate(m.ctx) })
	var reading sync.WaitGroup
	for _, t := range m.worker.Topics {
		reading.Add(1)
		m.running.Go(func() { m.follow(t, sync.OnceFunc(reading.Done)) })
	}
	read := make(chan struct{})
	go func() {
		reading.Wait()
		close(read)
	}()
	select {
	case <-read:
		return m.Err()
	case <-ctx.Done():
		return fmt.Errorf("read the assignments: %w", context.Cause(ctx))
	}
}

// ID returns the id of this member, which is never used again.
func (m *Member) ID() string { return m.id }

// Tree identifies what is kept in ZooKeeper, among all ensembles, roots and
// namespaces. Members of two trees know nothing of each other.
func (m *Member) Tree() string { return m.treeID }

// Until returns the time until which work may be begun without a further answer of
// ZooKeeper; the zero time means without limit. After a silence the session may live and the
// worker's node be gone, so that others take it for dead: the node must have been seen, too.
func (m *Member) Until() time.Time {
	confirmed := m.session.confirmed()
	if found := m.found.Load(); found != nil && found.Before(confirmed) {
		confirmed = *found
	}
	switch {
	case m.ctx.Err() != nil:
		return confirmed // which is over
	case m.keeper.cfg.OnOutage == Coast:
		return time.Time{}
	}
	return confirmed.Add(m.session.timeout() * 2 / 3)
}

// Deadline returns the time at which all work must have ended without a further answer of
// ZooKeeper: a while later others may prove this member dead. The zero time means never. The
// session need not end then: when ZooKeeper answers in it, nobody has.
func (m *Member) Deadline() time.Time {
	if m.keeper.cfg.OnOutage == Coast {
		return time.Time{}
	}
	return m.session.deadline()
}

// Silence says for how long ZooKeeper was not heard, and why.
func (m *Member) Silence() error {
	return fmt.Errorf("ZooKeeper was not heard for %v, of a session of %v: %s",
		time.Since(m.session.answered()).Round(time.Millisecond), m.session.timeout(), m.session.dialer.whyUnreachable())
}

// Lost is closed when the session is lost: ZooKeeper has ended it, or it will not be heard
// in it again. It is not closed by Close.
func (m *Member) Lost() <-chan struct{} { return m.session.lost }

// Err returns why the session is lost.
func (m *Member) Err() error {
	select {
	case <-m.session.lost:
		return context.Cause(m.session.ctx)
	default:
		return nil
	}
}

// Leaving asks the coordinator to give the slots to others, while this member
// still counts as alive.
func (m *Member) Leaving(ctx context.Context) error {
	return insist(ctx, func() error {
		_, err := m.session.claim(ctx, m.tree.leaving(m.id), nil)
		return err
	})
}

// Close ends the session. All slots must have been left.
func (m *Member) Close() {
	// Without ZooKeeper the session is left to its timeout.
	timer := time.AfterFunc(m.session.answerTimeout(), m.session.leave)
	defer timer.Stop()
	m.stop()
	m.running.Wait()
	// The end of the session takes all of them, but a request for that gets lost when
	// there is no connection at the moment. The mark goes last: without it, the
	// coordinator would give slots to a member that is about to go.
	for _, path := range []string{m.tree.worker(m.id), m.tree.leaving(m.id), m.tree.owned(m.id)} {
		err := insist(m.session.ctx, func() error { return m.session.remove(m.session.ctx, path) })
		if err != nil {
			break // the end of the session
		}
	}
	m.session.close()
}

// CloseIn is Close, but returns when ctx ends. The rest of Close runs in the background,
// and gives ZooKeeper one second more.
func (m *Member) CloseIn(ctx context.Context) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		m.Close()
	}()
	select {
	case <-closed:
	case <-ctx.Done():
		time.AfterFunc(time.Second, m.session.leave)
	}
}

// Abandon leaves the session to its timeout: this member keeps all that it holds until
// then.
func (m *Member) Abandon() {
	m.session.abandon()
	m.running.Wait()
}
