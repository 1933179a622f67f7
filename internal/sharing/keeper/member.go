package keeper

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
)

// Member is a worker with a session.
type Member struct {
	keeper  *Keeper
	worker  Worker
	session *session.Session
	tree    tree
	id      string
	log     *zap.Logger // with the worker's id

	definitions *definitions
	portions    *portions
	holdings    *holdings
	deaths      *deaths
	pulse       *session.Pulse
	alone       chan struct{} // see Alone

	ctx     context.Context // until the session is over, or Close
	stop    context.CancelFunc
	running sync.WaitGroup
}

func newMember(k *Keeper, w Worker, s *session.Session) *Member {
	if w.Logger == nil {
		w.Logger = zap.NewNop()
	}
	var random [4]byte
	rand.Read(random[:]) // never fails
	id := fmt.Sprintf("%s-%x-%x", w.Name, uint64(s.ID()), random)
	t, log, held := newTree(k.cfg.Root, w.Namespace), w.Logger.With(zap.String("member", id)), newHoldings(w.Quiet)
	pulse := session.NewPulse(s, t.worker(id), t.owned(id), held.encode)
	m := &Member{
		keeper: k, worker: w, session: s, tree: t, id: id, log: log,
		definitions: &definitions{session: s, tree: t, topics: w.Topics, before: w.Tree},
		portions:    newPortions(w.Topics, w.Own, log),
		holdings:    held,
		deaths:      &deaths{session: s, pulse: pulse, tree: t, id: id, explain: k.cfg.explain, proven: &k.dead},
		pulse:       pulse,
		alone:       make(chan struct{}),
	}
	m.ctx, m.stop = context.WithCancel(s.Context())
	return m
}

// register makes what the worker needs in ZooKeeper, itself last. It may be repeated.
func (m *Member) register(ctx context.Context) error {
	if err := makeTree(ctx, m.session, newTree(m.keeper.cfg.Root, ""), m.tree); err != nil {
		return err
	}
	if err := m.definitions.agreeOnLayout(ctx); err != nil {
		return err
	}
	for _, t := range m.worker.Topics {
		switch err := m.definitions.agree(ctx, t); {
		case m.worker.Tree != "" && errors.Is(err, ErrConflict):
			m.portions.compared(t.Name, err)
		case err != nil:
			return err
		}
	}
	node, err := describe(m.worker.Topics, m.keeper.cfg.Weight)
	if err != nil {
		return err
	}
	if err := claim(ctx, m.session, m.tree.owned(m.id), m.holdings.encode()); err != nil {
		return err
	}
	if err := claim(ctx, m.session, m.tree.worker(m.id), node); err != nil {
		return err
	}
	if m.definitions.again {
		return m.deaths.checkMadeAgain(ctx)
	}
	return nil
}

// start starts everything, and returns when each topic's assignment was read.
func (m *Member) start(ctx context.Context) error {
	m.log.Info("joined", zap.Int64("session", m.session.ID()), zap.Duration("timeout", m.session.Timeout()))
	m.running.Go(m.beat)
	m.running.Go(m.endSilence)
	shown := &publisher{holdings: m.holdings, pulse: m.pulse, again: m.session.AnswerTimeout, explain: m.keeper.cfg.explain, log: m.log}
	m.running.Go(func() { shown.run(m.ctx) })
	m.running.Go(func() { m.definitions.compare(m.ctx, m.keeper.recheck, m.portions.compared) })
	if m.worker.Quiet != nil {
		m.running.Go(m.watchAlone)
	}
	c := &candidate{
		session: m.session, tree: m.tree, id: m.id, log: m.log, since: time.Now(),
		recheck: m.keeper.recheck, delays: usualDelays, spread: usualSpread,
	}
	m.running.Go(func() { c.run(m.ctx) })
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

func (m *Member) beat() {
	left := m.pulse.Run(m.ctx, func(ctx context.Context) error { return vacate(ctx, m.session, m.tree) })
	if left != nil { // logged last, since a log may block
		m.log.Warn("office of the coordinator was not given up", zap.Error(left))
	}
}

func (m *Member) endSilence() {
	m.session.EndSilence(m.ctx)
	if err := m.Err(); err != nil {
		m.log.Warn("the session is lost", zap.Error(err))
	}
}

func (m *Member) watchAlone() {
	others := &peers{session: m.session, pulse: m.pulse, tree: m.tree, id: m.id, topics: m.worker.Topics}
	d := doubt{others: others, quiet: m.worker.Quiet, timeout: m.session.Timeout}
	if d.wait(m.ctx) {
		close(m.alone)
	}
}

// follow passes each change of a topic's assignment to Own. It calls read when it knows the
// present one.
func (m *Member) follow(t Topic, read func()) {
	back, stop := m.session.Reconnected()
	defer stop()
	f := &follower{
		session: m.session, path: m.tree.assign(t.Name), topic: t, id: m.id,
		assigned: m.portions.assigned, recheck: m.keeper.recheck, log: m.log,
	}
	f.run(m.ctx, back, read)
}

// ID returns the id of this member, which is never used again.
func (m *Member) ID() string { return m.id }

// Tree identifies what is kept in ZooKeeper, among all ensembles, roots and
// namespaces. Members of two trees know nothing of each other.
func (m *Member) Tree() string { return m.definitions.id }

// Timeout is that of the session, as ZooKeeper has granted it.
func (m *Member) Timeout() time.Duration { return m.session.Timeout() }

// Until returns the time until which work may be begun without a further answer of
// ZooKeeper; the zero time means without limit. After a silence the session may live
// although the worker's node is gone, and others take the worker for dead. So the node must
// have been seen, too.
func (m *Member) Until() time.Time {
	switch {
	case m.ctx.Err() != nil:
		return m.pulse.Seen() // which is over
	case m.keeper.cfg.OnOutage == Coast:
		return time.Time{}
	}
	return m.pulse.Until()
}

// Deadline returns the time at which all work must have ended without a further answer of
// ZooKeeper: a while later others may prove this member dead. The zero time means never. The
// session need not end then: if ZooKeeper answers in it, no other has.
func (m *Member) Deadline() time.Time {
	if m.keeper.cfg.OnOutage == Coast {
		return time.Time{}
	}
	return m.session.Deadline()
}

// Silence says for how long ZooKeeper was not heard, and why.
func (m *Member) Silence() error { return m.session.Silence() }

// Alone is closed when this worker has had no answer for two session timeouts while others
// had. See Worker.Quiet.
func (m *Member) Alone() <-chan struct{} { return m.alone }

// Lost is closed when the session is lost: ZooKeeper has ended it, or it will not be heard
// in it again. It is not closed by Close.
func (m *Member) Lost() <-chan struct{} { return m.session.Lost() }

// Err returns why the session is lost.
func (m *Member) Err() error { return m.session.Err() }

// Show notes the slots of a topic that the worker really has, for people to see.
func (m *Member) Show(topic string, slots []int) { m.holdings.show(topic, slots) }

// Dead reports whether a holder was proven dead before.
func (m *Member) Dead(holder string) bool { return m.deaths.known(holder) }

// Verify finds out whether a holder is surely dead. The caller has seen the holder
// in Redis. A text that is no worker's id counts as dead: no worker of that name lives.
// False means alive, or that nothing can be proven yet: the caller asks again.
func (m *Member) Verify(ctx context.Context, holder string) (dead bool, err error) {
	return m.deaths.verify(ctx, holder)
}

// Leaving asks the coordinator to give the slots to others, while this member
// still counts as alive.
func (m *Member) Leaving(ctx context.Context) error {
	return session.Retry(ctx, func() error {
		_, err := m.session.Claim(ctx, m.tree.leaving(m.id), nil)
		return err
	})
}

// Close ends the session. All slots must have been left.
func (m *Member) Close() {
	// Without ZooKeeper the session is left to its timeout.
	timer := time.AfterFunc(m.session.AnswerTimeout(), m.session.Leave)
	defer timer.Stop()
	m.stop()
	m.running.Wait()
	// The end of the session takes all of them, but a request for that gets lost when
	// there is no connection at the moment. The mark goes last: without it, the
	// coordinator would give slots to a member that is about to go.
	ctx := m.session.Context()
	for _, path := range []string{m.tree.worker(m.id), m.tree.leaving(m.id), m.tree.owned(m.id)} {
		err := session.Retry(ctx, func() error { return m.session.Remove(ctx, path) })
		if err != nil {
			break // the end of the session
		}
	}
	m.session.Close()
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
		time.AfterFunc(time.Second, m.session.Leave)
	}
}

// Abandon leaves the session to its timeout: this member keeps all that it holds until
// then.
func (m *Member) Abandon() {
	m.session.Abandon()
	m.running.Wait()
}
